package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// exclusiveParam is the option of a storage address for exclusive use by one server.
const exclusiveParam = "?exclusive=true"

// cluster starts a simulated cluster over sockets, and returns its address for --storage.
func cluster(t *testing.T) (*tikvfake.Cluster, string) {
	t.Helper()
	c, err := tikvfake.New()
	if err != nil {
		t.Fatal(err)
	}
	at, stop, err := c.Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); c.Close() })
	return c, "tikv://" + at + "/gateway"
}

// launch starts a server over a cluster; the caller ends it.
func launch(t *testing.T, place string, flags ...string) (*harness.Server, error) {
	t.Helper()
	path, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	return harness.LaunchBinary(path, harness.Options{Storage: place, Args: flags})
}

// mustLaunch is launch for a server that has to start.
func mustLaunch(t *testing.T, place string, flags ...string) *harness.Server {
	t.Helper()
	s, err := launch(t, place, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("last lines of the server's log:\n%s", s.Log())
		}
	})
	return s
}

// connect returns a client of a server.
func connect(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	c, err := mongo.Connect(options.Client().ApplyURI(uri).SetServerSelectionTimeout(20 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.Disconnect(c) })
	return c
}

// TestOneAtATime checks that a server can have a keyspace exclusively, and that the next one finds its data.
func TestOneAtATime(t *testing.T) {
	_, place := cluster(t)
	first := mustLaunch(t, place+exclusiveParam)
	coll := func(s *harness.Server) *mongo.Collection { return connect(t, s.URI).Database("test").Collection("c") }
	if _, err := coll(first).InsertOne(t.Context(), bson.M{"_id": 1}); err != nil {
		t.Fatal(err)
	}
	refused := func(place string, by *harness.Server) {
		t.Helper()
		second, err := launch(t, place)
		if err == nil {
			second.Kill()
			t.Fatal("a second server starts")
		}
		for _, want := range []string{"exclusive=true", fmt.Sprintf("process %d", by.PID()), "keyspace gateway"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("a second server is not told of %q:\n%v", want, err)
			}
		}
	}
	refused(place+exclusiveParam, first)
	refused(place, first)
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	next := mustLaunch(t, place)
	refused(place+exclusiveParam, next)
	if n, err := coll(next).CountDocuments(t.Context(), bson.M{"_id": 1}); n != 1 || err != nil {
		t.Errorf("the next server finds %d documents, %v", n, err)
	}
	if err := next.Stop(); err != nil {
		t.Error(err)
	}
}

// freePort returns an address with a free port.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// count holds the outcomes of one writer's increments.
type count struct {
	acknowledged, unknown int64
	slowest               time.Duration
}

// increment increments a document of its own until ctx ends. If the outcome of an increment is undetermined,
// it reads the document, which must have grown by one or not at all, but never by two.
func increment(ctx context.Context, t *testing.T, coll *mongo.Collection, id int) (c count) {
	for ctx.Err() == nil {
		begun := time.Now()
		err := sent(func() error {
			_, err := coll.UpdateOne(context.WithoutCancel(ctx), bson.M{"_id": id}, bson.M{"$inc": bson.M{"n": 1}}, options.UpdateOne().SetUpsert(true))
			return err
		})
		if err == nil {
			c.acknowledged++
			c.slowest = max(c.slowest, time.Since(begun))
			continue
		}
		var doc struct{ N int64 }
		for {
			err = coll.FindOne(context.WithoutCancel(ctx), bson.M{"_id": id}).Decode(&doc)
			if err == nil || errors.Is(err, mongo.ErrNoDocuments) {
				break
			}
		}
		if n := doc.N - c.acknowledged; n != 0 && n != 1 {
			t.Errorf("document %d: %d acknowledged, and it has %d", id, c.acknowledged, doc.N)
			return c
		}
		c.unknown++
		c.acknowledged = doc.N
	}
	return c
}

// TestKill kills a server repeatedly under writers: all acknowledged writes are there, and none was applied
// twice.
func TestKill(t *testing.T) {
	const writers = 6
	kills := programme.Amount(t, "gateway")
	killed := 0
	all, unknown, slowest := int64(0), int64(0), time.Duration(0)
	programme.RecordAtEnd(t, "gateway", 0, func() (int, string) {
		return killed, fmt.Sprintf("%d increments, %d of them undetermined; the slowest took %v", all, unknown, slowest.Round(time.Millisecond))
	})
	_, place := cluster(t)
	address := freePort(t)
	s := mustLaunch(t, place, "--listen", address)
	coll := connect(t, "mongodb://"+address+"/").Database("test").Collection("counters")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	counts := make([]count, writers)
	for w := range writers {
		wg.Go(func() { counts[w] = increment(ctx, t, coll, w) })
	}
	for range kills {
		select {
		case <-time.After(1500 * time.Millisecond):
		case <-t.Context().Done():
		}
		s.Kill()
		killed++
		s = mustLaunch(t, place, "--listen", address)
	}
	<-time.After(500 * time.Millisecond)
	cancel()
	wg.Wait()
	for w := range writers {
		var doc struct{ N int64 }
		if err := coll.FindOne(t.Context(), bson.M{"_id": w}).Decode(&doc); err != nil || doc.N != counts[w].acknowledged {
			t.Errorf("document %d has %d, %d were acknowledged, %v", w, doc.N, counts[w].acknowledged, err)
		}
		all, unknown, slowest = all+doc.N, unknown+counts[w].unknown, max(slowest, counts[w].slowest)
	}
	if all < 100 {
		t.Errorf("only %d increments", all)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// TestPeersAway checks that while PD is unavailable commands fail in time with errors that drivers retry, and that
// the server recovers.
func TestPeersAway(t *testing.T) {
	c, place := cluster(t)
	console, metrics := freePort(t), freePort(t)
	s := mustLaunch(t, place, "--console-listen", console, "--metrics-listen", metrics)
	ready := func() string { return get(t, "http://"+console+"/readyz") }
	plain := connect(t, s.URI+"?retryWrites=false&retryReads=false").Database("test").Collection("c")
	if _, err := plain.InsertOne(t.Context(), bson.M{"_id": 1}); err != nil {
		t.Fatal(err)
	}
	if got := ready(); got != "ready" {
		t.Errorf("before: %s", got)
	}
	c.StopPD(errors.New("PD is away"))
	begun := time.Now()
	_, insertErr := plain.InsertOne(t.Context(), bson.M{"_id": 2})
	findErr := plain.FindOne(t.Context(), bson.M{"_id": 1}).Err()
	for what, err := range map[string]error{"insert": insertErr, "find": findErr} {
		if !hasCode(err, 89) {
			t.Errorf("%s while PD is away: %v", what, err)
		}
	}
	t.Logf("insert and find failed after %v", time.Since(begun))
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("two commands took %v", took)
	}
	for got := ""; !strings.Contains(got, "has not answered for"); {
		got = ready()
	}
	t.Logf("not ready after %v", time.Since(begun))
	if err := plain.Database().RunCommand(t.Context(), bson.M{"ping": 1}).Err(); err == nil || !strings.Contains(err.Error(), "NetworkTimeout") {
		t.Errorf("ping while PD is away: %v", err)
	}
	if out, err := exec.Command(must(harness.Binary()), "ping", s.URI).CombinedOutput(); err == nil || !strings.Contains(string(out), "cannot be reached") {
		t.Errorf("cantle ping while PD is away: %v: %s", err, out)
	}
	c.StopPD(nil)
	begun = time.Now()
	for ready() != "ready" {
	}
	t.Logf("ready again after %v", time.Since(begun))
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %v until the server was ready again", took)
	}
	retrying := connect(t, s.URI).Database("test").Collection("c")
	if _, err := retrying.InsertOne(t.Context(), bson.M{"_id": 3}); err != nil {
		t.Errorf("after PD came back: %v", err)
	}
	if n, err := plain.CountDocuments(t.Context(), bson.M{}); n != 2 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	observed(t, "http://"+metrics+"/metrics", plain.Database())
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// must returns a value, and panics on an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// get returns the body of an HTTP response.
func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(body))
}

// observed checks that metrics and serverStatus report requests to the cluster.
func observed(t *testing.T, url string, db *mongo.Database) {
	t.Helper()
	text := get(t, url)
	for _, want := range []string{"cantle_tikv_request_seconds_count{", "cantle_tikv_backoff_seconds_count{",
		"cantle_store_remote_away 0", "cantle_store_remote_oracle_times_total ", "cantle_store_remote_lock_actions_total "} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	var status struct{ StorageRemote map[string]int64 }
	if err := db.RunCommand(t.Context(), bson.M{"serverStatus": 1}).Decode(&status); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"requests", "requestMillis", "oracleTimes", "backoffs"} {
		if status.StorageRemote[name] == 0 {
			t.Errorf("serverStatus: %s is 0 in %v", name, status.StorageRemote)
		}
	}
}
