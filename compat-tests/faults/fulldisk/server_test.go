package fulldisk

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

const (
	outOfDiskSpace  = 14031
	docBytes        = 100 << 10
	writers         = 4
	recoveryTimeout = time.Minute // maximum time from when space can be freed until writes are accepted again
	fillMost        = 10 * time.Minute
	fillPlanted     = time.Minute // time limit of filling with the planted bug, which blocks all inserts without end
)

// world is a server on a small volume, and the writes that the server has acknowledged.
type world struct {
	testing.TB
	*volume
	server *harness.Server
	db     *mongo.Database
	args   []string

	mu   sync.Mutex
	next int
	held map[string]map[int]int // acknowledged versions of the documents by collection
}

// live starts a server on a new volume.
func live(tb testing.TB, megabytes int, ext4 bool) *world {
	tb.Helper()
	w := &world{TB: tb, volume: newVolume(tb, megabytes, ext4), held: map[string]map[int]int{}}
	w.start()
	return w
}

func (w *world) start() {
	w.Helper()
	server, err := harness.Launch(harness.Options{Data: w.data(), Args: w.args})
	if err != nil {
		w.Fatal(err)
	}
	w.server, w.db = server, server.Client(w).Database("full")
	w.Cleanup(func() {
		if err := server.Stop(); err != nil || w.Failed() {
			w.Logf("%v; last lines of the server's log:\n%s", err, server.Log())
		}
		server.Kill()
	})
}

// restart ends the server, by SIGKILL or by a clean shutdown, and starts it again on the same volume.
func (w *world) restart(kill bool) {
	w.Helper()
	if kill {
		w.server.Kill()
	} else if err := w.server.Stop(); err != nil {
		w.Errorf("stopping: %v", err)
	}
	w.start()
}

// ctx returns a context that ends after 40 seconds, so that a command that hangs fails.
func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	w.Cleanup(cancel)
	return ctx
}

// code returns the code in an error reply of the server, 0 for no error, -1 for any other error.
func code(err error) int {
	var x mongo.ServerError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &x):
		for _, c := range x.ErrorCodes() {
			return c
		}
	}
	return -1
}

// pad returns a value that cannot be compressed.
func pad(n int) bson.Binary {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return bson.Binary{Data: b}
}

// acknowledged records an acknowledged document.
func (w *world) acknowledged(coll string, id, version int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held[coll] == nil {
		w.held[coll] = map[int]int{}
	}
	if w.held[coll][id] = version; version == 0 {
		delete(w.held[coll], id)
	}
}

// insert inserts one document of a size in bytes, and records it if it is acknowledged. It returns the server's
// error.
func (w *world) insert(coll string, size int) error {
	w.mu.Lock()
	w.next++
	id := w.next
	w.mu.Unlock()
	_, err := w.db.Collection(coll).InsertOne(w.ctx(), bson.D{{Key: "_id", Value: id}, {Key: "v", Value: 1}, {Key: "pad", Value: pad(size)}})
	if err == nil {
		w.acknowledged(coll, id, 1)
	}
	return err
}

// fill inserts documents by several clients at once, until so many megabytes are sent, or with 0 until the server
// has refused five of each client.
func (w *world) fill(coll string, megabytes int) {
	w.Helper()
	var all sync.WaitGroup
	begun, most := time.Now(), fillMost
	if os.Getenv(harness.Planted) != "" {
		most = fillPlanted
	}
	for range writers {
		all.Go(func() {
			for i, refused := 0, 0; megabytes == 0 && refused < 5 || i < megabytes<<20/docBytes/writers; i++ {
				switch c := code(w.insert(coll, docBytes)); {
				case time.Since(begun) > most:
					w.Errorf("after %v an insert that fills the disk is still taken, or waits", most)
					return
				case c == outOfDiskSpace:
					refused++
					time.Sleep(300 * time.Millisecond)
				case c != 0:
					w.Errorf("an insert that fills the disk has code %d", c)
					return
				}
			}
		})
	}
	all.Wait()
	if w.Failed() {
		w.FailNow()
	}
	w.Logf("%d documents; %.1f MB are free", w.count(coll), float64(w.free())/(1<<20))
}

func (w *world) count(coll string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held[coll])
}

// ids returns the _ids of at most n documents of a collection that were acknowledged.
func (w *world) ids(coll string, n int) (ids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.held[coll] {
		if len(ids) == n {
			break
		}
		ids = append(ids, id)
	}
	return ids
}

// drop drops a collection.
func (w *world) drop(coll string) {
	w.Helper()
	if err := w.db.Collection(coll).Drop(w.ctx()); err != nil {
		w.Errorf("drop: %v", err)
	}
	w.mu.Lock()
	delete(w.held, coll)
	w.mu.Unlock()
}

// refused checks that the error of a write has the code of a full disk.
func (w *world) refused(what string, err error) {
	w.Helper()
	if code(err) != outOfDiskSpace {
		w.Errorf("%s on a full disk: %v, not code %d", what, err, outOfDiskSpace)
	}
}

// well checks that the server accepts writes again within recoveryTimeout (a minute), and that all acknowledged
// data are there.
func (w *world) well() {
	w.Helper()
	begun := time.Now()
	for good := 0; good < 20; {
		switch err := w.insert("again", docBytes); {
		case err == nil:
			good++
		case time.Since(begun) > recoveryTimeout:
			w.Fatalf("%v after there was something to let go: %v; %.1f MB are free", recoveryTimeout, err, float64(w.free())/(1<<20))
		default:
			good = 0
			time.Sleep(200 * time.Millisecond)
		}
	}
	w.Logf("writes are taken again after %v; %.1f MB are free", time.Since(begun).Round(100*time.Millisecond), float64(w.free())/(1<<20))
	w.compare()
}

// compare reads the collections and checks that they have exactly the acknowledged documents.
func (w *world) compare() {
	w.Helper()
	for coll, held := range w.held {
		cur, err := w.db.Collection(coll).Find(w.ctx(), bson.D{}, nil)
		if err != nil {
			w.Fatalf("reading: %v", err)
		}
		found := map[int]int{}
		for cur.Next(w.ctx()) {
			var d struct {
				ID int `bson:"_id"`
				V  int
			}
			if err := cur.Decode(&d); err != nil {
				w.Fatal(err)
			}
			found[d.ID] = d.V
		}
		if err := cur.Err(); err != nil {
			w.Fatalf("reading: %v", err)
		}
		for id, v := range held {
			if found[id] != v {
				w.Errorf("%s %d: version %d, and %d was acknowledged", coll, id, found[id], v)
			}
		}
		if len(found) != len(held) {
			w.Errorf("%s: %d documents, and %d were acknowledged", coll, len(found), len(held))
		}
	}
}
