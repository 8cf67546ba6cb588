package rooms

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/memkv"
)

// brittle is a store whose iterators panic when they are opened while broken is set; it simulates a bug below a
// command.
type brittle struct {
	storage.Store
	broken atomic.Bool
}

type brittleReader struct {
	storage.Reader
	s *brittle
}

func (s *brittle) Snapshot(ctx context.Context, at storage.Timestamp) (storage.Reader, error) {
	r, err := s.Store.Snapshot(ctx, at)
	if err != nil {
		return nil, err
	}
	return brittleReader{r, s}, nil
}

func (r brittleReader) Iter(ctx context.Context, of storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	if r.s.broken.Load() {
		panic("a bug")
	}
	return r.Reader.Iter(ctx, of, o)
}

// TestPanicClosesSnapshots checks that a read or update that panics, while it is planned or while it runs, leaves no
// snapshot open: an open snapshot would keep every later version of each document.
func TestPanicClosesSnapshots(t *testing.T) {
	store := &brittle{Store: memkv.Open(memkv.Options{})}
	t.Cleanup(func() { store.Close() })
	w := newWorld(t, store)
	w.dial().ok(`{createIndexes: "c", indexes: [{key: {a: 1}, name: "a"}, {key: {b: 1}, name: "b"}]}`)
	w.dial().ok(`{insert: "c", documents: [{_id: 1, a: 1, b: 1}, {_id: 2, a: 2, b: 2}]}`)
	w.dial().ok(`{create: "v", viewOn: "c", pipeline: [{$match: {z: null}}]}`)
	store.broken.Store(true)
	for _, command := range []string{
		`{find: "c"}`,
		`{find: "c", filter: {a: {$gt: 0}, b: {$gt: 0}}}`, // runs a trial of two plans
		`{find: "v"}`,
		`{aggregate: "c", pipeline: [{$match: {z: null}}], cursor: {}}`,
		`{aggregate: "c", pipeline: [{$match: {a: {$gt: 0}, b: {$gt: 0}}}], cursor: {}}`,
		`{count: "c", query: {z: null}}`,
		`{distinct: "c", key: "z"}`,
		`{update: "c", updates: [{q: {a: {$gt: 0}, b: {$gt: 0}}, u: {$set: {z: 1}}, multi: true}]}`,
	} {
		panicked := false
		func() {
			defer func() { panicked = recover() != nil }()
			w.dial().run(command)
		}()
		if n := store.Metrics().OpenSnapshots; !panicked || n != 0 {
			t.Errorf("%s: panicked %v and left %d snapshots open", command, panicked, n)
		}
	}
}

// TestInsertWhileDropped checks that an insert or upsert that runs at the same time as the drop of its collection
// creates the collection again, as it would a moment later.
func TestInsertWhileDropped(t *testing.T) {
	w := newWorld(t, nil)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		c := w.dialAs("dropper")
		for {
			select {
			case <-stop:
				return
			default:
				_, _, _ = c.send(t.Context(), 0, `{drop: "c"}`)
			}
		}
	}()
	c := &client{w: w, id: 1000, tag: "writer"}
	if err := w.Connect(c); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		for _, command := range []string{`{insert: "c", documents: [{a: 1}, {a: 2}]}`, `{update: "c", updates: [{q: {k: 1}, u: {$set: {a: 1}}, upsert: true}]}`} {
			if r := c.ok(command); at(r, "writeErrors.0.code").Truthy() {
				t.Fatal(r)
			}
		}
	}
	close(stop)
	<-done
}
