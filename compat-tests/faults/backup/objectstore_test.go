package backup

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/s3server"
	"github.com/cantledb/cantle/internal/testenv"
)

// TestBurnedDown kills a server under writers while it copies its log every second into an object store, of which one
// request of twenty fails. Then its folder is gone, and everything acknowledged up to the last moment that the server
// showed as covered must come back from the store.
func TestBurnedDown(t *testing.T) {
	testenv.SkipWithURI(t)
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	store := s3server.Start(t)
	proxy := store.Interpose(t)
	proxy.Share.Store(5)
	data, to := filepath.Join(t.TempDir(), "data"), store.Location("shop", proxy.URL)
	s, err := harness.LaunchBinary(bin, harness.Options{Data: data, Env: s3server.Environment(),
		Args: []string{"--backup-to", to, "--backup-log-interval", "1s", "--backup-interval", "4s"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	client, err := harness.Connect(s.URI, options.Client().SetRetryWrites(false).SetServerSelectionTimeout(3*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Disconnect(client)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	acknowledged := make([][]moment, writers) // for each writer, the times after its documents 0, 1, 2, …
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := 0; ; n++ {
				var reply struct {
					OperationTime bson.Timestamp `bson:"operationTime"`
				}
				insert := bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: bson.D{{Key: "w", Value: w}, {Key: "n", Value: n}}}}}}}
				if client.Database("shop").RunCommand(ctx, insert).Decode(&reply) != nil {
					return // killed
				}
				acknowledged[w] = append(acknowledged[w], moment(reply.OperationTime.T)<<32|moment(reply.OperationTime.I))
			}
		})
	}
	covered, steps := moment(0), 0
	for steps < 8 { // eight copies of the log are shown
		now, err := shown(ctx, client)
		if err != nil {
			t.Fatal(err)
		}
		if now > covered {
			covered, steps = now, steps+1
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.Kill()
	killed := time.Now()
	all.Wait()
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "restored")
	cmd := exec.Command(bin, "restore", "--from", to, "--data", restored)
	cmd.Env = append(os.Environ(), s3server.Environment()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again, err := harness.LaunchBinary(bin, harness.Options{Data: restored})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Kill()
	down := time.Since(killed)
	reader, err := harness.Connect(again.URI)
	if err != nil {
		t.Fatal(err)
	}
	defer harness.Disconnect(reader)
	due, lost := 0, 0
	for w, times := range acknowledged {
		back, err := reader.Database("shop").Collection("c").CountDocuments(ctx, bson.D{{Key: "_id.w", Value: w}})
		if err != nil {
			t.Fatal(err)
		}
		lost += max(0, len(times)-int(back))
		for n, at := range times {
			if at > covered {
				break
			}
			due++
			if int64(n) >= back {
				t.Fatalf("document %d of writer %d was acknowledged at %v, moments up to %v are covered, and %d documents of the writer came back", n, w, at, covered, back)
			}
		}
	}
	if due == 0 || proxy.Failed.Load() == 0 {
		t.Errorf("%d documents had to come back, %d requests failed", due, proxy.Failed.Load())
	}
	t.Logf("%d documents had to come back; %d acknowledged later are lost; %d requests failed; a server had the data %v after the kill", due, lost, proxy.Failed.Load(), down.Round(time.Millisecond))
}

// shown returns the newest moment that a server shows as covered by its backups; 0 = none.
func shown(ctx context.Context, client *mongo.Client) (moment, error) {
	var status struct {
		Backup struct {
			CoveredTo bson.Timestamp `bson:"coveredTo"`
		} `bson:"backup"`
	}
	err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status)
	return moment(status.Backup.CoveredTo.T)<<32 | moment(status.Backup.CoveredTo.I), err
}
