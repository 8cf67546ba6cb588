package follower

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/compat-tests/rig/pair"
	"github.com/cantledb/cantle/internal/s3server"
)

// startObjectStore starts both servers over a place in an object store.
func startObjectStore(t *testing.T, flags ...string) (servers, *s3server.Server) {
	t.Helper()
	p, store, _ := pair.InObjectStore(t, flags...)
	return servers{p}, store
}

// written returns the number of files of logs and backups in an object store.
func written(t *testing.T, dir string) (n int) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return nil // files come and go
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPromoteObjectStore promotes the follower of a primary that runs and renews its lease in an object store. The primary loses
// the lease at its next renewal, writes nothing into its timeline from then on, and refuses writes of clients.
func TestPromoteObjectStore(t *testing.T) {
	p, store := startObjectStore(t)
	timelines, err := filepath.Glob(filepath.Join(store.Dir, "shop", "*", "log"))
	if err != nil || len(timelines) != 1 {
		t.Fatalf("timelines: %v, %v", timelines, err)
	}
	w := p.startWriter()
	time.Sleep(3 * time.Second)
	begun := time.Now()
	t.Logf("%s", p.Promote())
	p.Await(func() error {
		if hello := p.Hello(p.Primary); hello.Lookup("isWritablePrimary").Boolean() {
			return fmt.Errorf("hello of the former primary: %s", hello)
		}
		return nil
	})
	noticed := time.Since(begun)
	before := written(t, timelines[0])
	if got, text := code(raw(t.Context(), t, p.Primary.Addr, "shop", bson.D{{Key: "insert", Value: "acked"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: -1}}}}})); got != 10107 {
		t.Errorf("a write at the former primary: %d %s", got, text)
	}
	time.Sleep(3 * time.Second)
	w.stop()
	if after := written(t, timelines[0]); after != before {
		t.Errorf("the former primary has written into its timeline: %d files, then %d", before, after)
	}
	p.check(w, begun, noticed)
	p.Await(func() error { // the new primary writes into the same place
		to, err := p.Status(p.Follower, "backup.coveredTo")
		if err == nil && to.Type == 0 {
			err = fmt.Errorf("no moment is covered")
		}
		return err
	})
}

// TestPromoteAfter kills the primary. The follower promotes itself after the time of --promote-after, not before, and clients
// with both hosts go on.
func TestPromoteAfter(t *testing.T) {
	p, _ := startObjectStore(t, "--promote-after", "30s")
	w := p.startWriter()
	time.Sleep(3 * time.Second)
	p.Primary.Kill()
	begun := time.Now()
	var first time.Duration
	p.Await(func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, at := range w.acked {
			if at.After(begun.Add(time.Second)) {
				first = at.Sub(begun)
				return nil
			}
		}
		return fmt.Errorf("no write after %v", time.Since(begun))
	})
	if first < 25*time.Second { // the lease was renewed at most five seconds before the end
		t.Errorf("the follower was promoted %v after the end of the primary", first)
	}
	w.stop()
	if s, err := p.TryLaunch(p.First, p.Ports[0], p.Ports[1], "--backup-to", p.Place, "--backup-log-interval", "1s"); err == nil {
		t.Error("the former primary starts")
		s.Kill()
	}
	p.check(w, begun, 0)
	if hello := p.Hello(p.Follower); !hello.Lookup("isWritablePrimary").Boolean() {
		t.Errorf("hello: %s", hello)
	}
}

// TestPromoteAfterRefused starts servers with settings of --promote-after that have no effect, or none that is safe.
func TestPromoteAfterRefused(t *testing.T) {
	p := startPair(t)
	for _, flags := range [][]string{
		{"--follow", p.Backups, "--promote-after", "60s"}, // a folder has no lease
		{"--follow", p.Backups, "--promote-after", "5s"},
		{"--promote-after", "60s"},
	} {
		s, err := harness.Launch(harness.Options{Data: filepath.Join(t.TempDir(), "data"), Args: flags})
		if err == nil {
			t.Errorf("%v: it starts", flags)
			s.Kill()
		}
	}
}
