package follower

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/s3server"
)

// startObjectStore starts both servers over a place in an object store, which the primary reaches through the proxy.
func startObjectStore(t *testing.T, flags ...string) (p *pair, store *s3server.Server, proxy *s3server.Proxy) {
	t.Helper()
	store = s3server.Start(t)
	proxy = store.Interpose(t)
	p = &pair{t: t, backups: store.Location("shop", store.URL), place: store.Location("shop", proxy.URL), env: s3server.Environment(), flags: flags}
	p.start()
	return p, store, proxy
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
	p, store, _ := startObjectStore(t)
	timelines, err := filepath.Glob(filepath.Join(store.Dir, "shop", "*", "log"))
	if err != nil || len(timelines) != 1 {
		t.Fatalf("timelines: %v, %v", timelines, err)
	}
	w := p.startWriter()
	time.Sleep(3 * time.Second)
	begun := time.Now()
	t.Logf("%s", p.promote())
	p.await(func() error {
		if hello := p.hello(p.primary); hello.Lookup("isWritablePrimary").Boolean() {
			return fmt.Errorf("hello of the former primary: %s", hello)
		}
		return nil
	})
	noticed := time.Since(begun)
	before := written(t, timelines[0])
	if got, text := code(raw(t.Context(), t, p.primary.Addr, "shop", bson.D{{Key: "insert", Value: "acked"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: -1}}}}})); got != 10107 {
		t.Errorf("a write at the former primary: %d %s", got, text)
	}
	time.Sleep(3 * time.Second)
	w.stop()
	if after := written(t, timelines[0]); after != before {
		t.Errorf("the former primary has written into its timeline: %d files, then %d", before, after)
	}
	p.check(w, begun, noticed)
	p.await(func() error { // the new primary writes into the same place
		to, err := p.status(p.follower, "backup.coveredTo")
		if err == nil && to.Type == 0 {
			err = fmt.Errorf("no moment is covered")
		}
		return err
	})
}

// TestPromoteAfter kills the primary. The follower promotes itself after the time of --promote-after, not before, and clients
// with both hosts go on.
func TestPromoteAfter(t *testing.T) {
	p, _, _ := startObjectStore(t, "--promote-after", "30s")
	w := p.startWriter()
	time.Sleep(3 * time.Second)
	p.primary.Kill()
	begun := time.Now()
	var first time.Duration
	p.await(func() error {
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
	if s, err := p.tryLaunch(p.first, p.ports[0], p.ports[1], "--backup-to", p.place, "--backup-log-interval", "1s"); err == nil {
		t.Error("the former primary starts")
		s.Kill()
	}
	p.check(w, begun, 0)
	if hello := p.hello(p.follower); !hello.Lookup("isWritablePrimary").Boolean() {
		t.Errorf("hello: %s", hello)
	}
}

// TestPromoteAfterRefused starts servers with settings of --promote-after that have no effect, or none that is safe.
func TestPromoteAfterRefused(t *testing.T) {
	p := startPair(t)
	for _, flags := range [][]string{
		{"--follow", p.backups, "--promote-after", "60s"}, // a folder has no lease
		{"--follow", p.backups, "--promote-after", "5s"},
		{"--promote-after", "60s"},
	} {
		s, err := harness.Launch(harness.Options{Data: filepath.Join(t.TempDir(), "data"), Args: flags})
		if err == nil {
			t.Errorf("%v: it starts", flags)
			s.Kill()
		}
	}
}
