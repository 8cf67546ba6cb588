package isolation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// TestKills runs the workloads while the server is killed at random times and restarted. Acknowledged writes must be
// there afterwards, and each other transaction must be there as a whole or not at all.
func TestKills(t *testing.T) {
	testenv.SkipWithURI(t)
	for round, began := 1, time.Now(); round == 1 || time.Since(began) < soak() && !t.Failed(); round++ {
		for name, work := range map[string]func(*fixture){"bank": bank, "append": appends, "registers": registers} {
			t.Run(fmt.Sprintf("%s/%d", name, round), func(t *testing.T) { killed(t, name, work) })
		}
	}
}

// soak returns the time for which TestKills repeats its rounds: ten minutes at night. Each round records a history
// of its own, because the checks take more time the longer a history is.
func soak() time.Duration {
	if testenv.IsNightly() {
		return 10 * time.Minute
	}
	return 0
}

// killed runs a workload on a sharded collection of a server on disk, and meanwhile kills and restarts the server
// repeatedly.
func killed(t *testing.T, name string, work func(*fixture)) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute+2*duration())
	defer cancel()
	o := harness.Options{Data: t.TempDir(), Args: []string{"--sync=always"}}
	server, err := harness.Launch(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Args = append(o.Args, "--listen", server.Addr)
	current := atomic.Pointer[harness.Server]{}
	current.Store(server)
	t.Cleanup(func() {
		if err := current.Load().Stop(); err != nil {
			t.Errorf("stopping the server: %v\n%s", err, current.Load().Log())
		}
	})
	client, err := mongo.Connect(options.Client().ApplyURI(server.URI).SetServerSelectionTimeout(30 * time.Second).SetHeartbeatInterval(500 * time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.Disconnect(client) })
	f := &fixture{T: t, ctx: ctx, client: client, coll: client.Database("isolation").Collection(name)}
	f.ok(client.Database("admin").RunCommand(ctx, bson.D{{Key: "shardCollection", Value: "isolation." + name},
		{Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 3}}).Err())
	kills := 0
	f.kills = func(ctx context.Context) {
		for {
			select {
			case <-ctx.Done():
				if kills > 0 {
					return
				}
				// On a slow machine the workload may end before the first kill; then the server is killed once after
				// the workload.
			case <-time.After(300*time.Millisecond + rand.N(1500*time.Millisecond)):
			}
			if err := current.Load().Trouble(); err != nil {
				t.Error(err)
			}
			current.Load().Kill()
			again, err := harness.Launch(o)
			if err != nil {
				t.Errorf("start after kill %d: %v", kills, err)
				return
			}
			current.Store(again)
			kills++
		}
	}
	work(f)
	t.Logf("%d kills", kills)
	if kills == 0 {
		t.Error("the server was never killed")
	}
}

// lost reports whether the kill of the server explains an error, in a run that kills the server. Then the outcome of
// the operation is undetermined.
func (f *fixture) lost(err error) bool {
	if f.kills == nil {
		return false
	}
	var selection topology.ServerSelectionError
	var pool driver.RetryablePoolError
	var server mongo.ServerError
	switch {
	case mongo.IsNetworkError(err), mongo.IsTimeout(err), errors.As(err, &selection):
		return true
	case errors.As(err, &pool):
		// This error is returned by an operation that waits for a connection while the driver clears its pool,
		// because another operation lost its connection. It does not count as a network error: nothing was sent.
		return true
	case errors.As(err, &server):
		// The cursor was opened before the kill, or the server is starting or stopping.
		return server.HasErrorCode(43) || server.HasErrorCode(91) || server.HasErrorCode(11600) ||
			server.HasErrorLabel("TransientTransactionError")
	}
	return false
}

// cleared stands for the driver's error for an operation that waited for a connection when the driver cleared its
// pool of connections; the driver does not export the type of that error.
type cleared struct{ error }

func (cleared) Retryable() bool { return true }

// TestLost checks which errors of a client lost explains by a kill of the server, and which errors of the server it
// does not.
func TestLost(t *testing.T) {
	f := &fixture{T: t, kills: func(context.Context) {}}
	for _, err := range []error{
		fmt.Errorf("wrapped: %w", cleared{errors.New("the pool was cleared")}), context.DeadlineExceeded,
		mongo.CommandError{Code: 91}, mongo.CommandError{Labels: []string{"NetworkError"}},
	} {
		if !f.lost(err) {
			t.Errorf("%v is not explained", err)
		}
	}
	for _, err := range []error{errors.New("no sum"), mongo.CommandError{Code: 11000}, mongo.CommandError{Code: 8000}} {
		if f.lost(err) {
			t.Errorf("%v is explained", err)
		}
	}
}
