package processes

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestHangs suspends PD and the TiKV node while their connections stay open, like machines that are suspended or cut
// off. Commands end by their time limit or with an error that drivers retry, the server reports that it is not
// ready, and it recovers when they continue.
func TestHangs(t *testing.T) {
	place, process := harness.SimulatedCluster(t)
	console := freePort(t)
	s := mustLaunch(t, place, "--console-listen", console)
	ready := func() string { return get(t, "http://"+console+"/readyz") }
	plain := connect(t, s.URI+"?retryWrites=false&retryReads=false").Database("test").Collection("c")
	if _, err := plain.InsertOne(t.Context(), bson.M{"_id": 1}); err != nil {
		t.Fatal(err)
	}
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = process.Signal(syscall.SIGCONT) }()
	var state syscall.WaitStatus // on a busy machine some threads stop a moment later
	if _, err := syscall.Wait4(process.Pid, &state, syscall.WUNTRACED, nil); err != nil || !state.Stopped() {
		t.Fatalf("the cluster does not stand still: %v", err)
	}
	fails := func(what string, limit time.Duration, cmd bson.D, codes ...int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		err := plain.Database().RunCommand(ctx, cmd).Err()
		var e mongo.ServerError
		known := false
		for _, code := range codes {
			known = known || errors.As(err, &e) && e.HasErrorCode(code)
		}
		t.Logf("%s: %v, after %v", what, err, time.Since(begun))
		if took := time.Since(begun); !known || took > limit {
			t.Errorf("%s ended after %v with %v", what, took, err)
		}
	}
	insert := func(id int, more ...bson.E) bson.D {
		return append(bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.M{"_id": id}}}}, more...)
	}
	const slack = 10 * time.Second // for a busy machine
	fails("a limited insert", time.Second+slack, insert(2, bson.E{Key: "maxTimeMS", Value: 1000}), 50, 89)
	fails("a limited find", time.Second+slack, bson.D{{Key: "find", Value: "c"}, {Key: "maxTimeMS", Value: 1000}}, 50, 89)
	fails("an insert", 20*time.Second+slack, insert(3), 89)
	for got := ""; !strings.Contains(got, "has not answered for"); {
		got = ready()
	}
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for ready() != "ready" {
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %v until the server was ready again", took)
	}
	t.Logf("ready again after %v", time.Since(begun))
	retrying := connect(t, s.URI).Database("test").Collection("c")
	if _, err := retrying.InsertOne(t.Context(), bson.M{"_id": 4}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	// In-flight writes may have been applied when the cluster continued, but at most once.
	for id, least := range map[int]int64{1: 1, 2: 0, 3: 0, 4: 1} {
		if n, err := retrying.CountDocuments(t.Context(), bson.M{"_id": id}); err != nil || n < least || n > 1 {
			t.Errorf("document %d is there %d times, %v", id, n, err)
		}
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
