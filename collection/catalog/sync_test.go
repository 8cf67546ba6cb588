package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/faultkv"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/memkv"
)

// among is a simulated shared store whose only member is this server, unless another type adds some.
type among struct {
	storage.Store
	message []byte
	// looked, if set, is called around snapshots.
	looked func(take func() (storage.Reader, error)) (storage.Reader, error)
}

func (a *among) Member() storage.MemberID { return storage.MemberID{1} }

func (a *among) Publish(_ context.Context, message []byte) error {
	a.message = slices.Clone(message)
	return nil
}

func (a *among) Members(context.Context) (storage.Timestamp, []storage.Member, error) {
	return a.Latest(), []storage.Member{{ID: a.Member(), Message: a.message}}, nil
}

func (a *among) SetDescription(func() []byte) {}

func (a *among) Collect(context.Context) error { return nil }

func (a *among) Rejoin(func(context.Context, storage.Reader) error) {}

func (a *among) Snapshot(ctx context.Context, at storage.Timestamp) (storage.Reader, error) {
	take := func() (storage.Reader, error) { return a.Store.Snapshot(ctx, at) }
	if a.looked != nil {
		return a.looked(take)
	}
	return take()
}

// frozen freezes a collection.
func frozen(name string) func(m *catalog.Mutation) error {
	return func(m *catalog.Mutation) error {
		coll, err := m.Snapshot().Lookup(ns(name))
		if err != nil {
			return err
		}
		return m.Put(coll.With(func(d *catalog.Collection) { d.Frozen = true }))
	}
}

// If a server refreshes its catalog from a state of the store older than its own newest change, it keeps that change:
// here a freeze, as a frozen collection must have no writers.
func TestFollowOlderState(t *testing.T) {
	store := &among{Store: memkv.Open(memkv.Options{})}
	defer store.Close()
	c, err := catalog.Open(t.Context(), store, release.Default)
	bsontest.Must(t, err)
	r := &room{c, t, store}
	r.create("db.c", "{}")
	begun, taken, goOn, again := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	looks := 0
	ctx, stop := context.WithCancel(t.Context())
	store.looked = func(take func() (storage.Reader, error)) (storage.Reader, error) {
		switch looks++; looks {
		case 1:
			<-begun
			r, err := take()
			close(taken)
			<-goOn
			return r, err
		case 2:
			close(again)
			<-ctx.Done()
		}
		return nil, storage.ErrClosed
	}
	ended := make(chan struct{})
	go func() { c.Follow(ctx); close(ended) }()
	r.change(func(m *catalog.Mutation) error {
		txn, err := store.Begin(t.Context(), storage.TxnOptions{}) // another user of the store commits, so that the refresh reads at a later time
		bsontest.Must(t, err)
		bsontest.Must(t, txn.Set([]byte("else"), []byte("1")))
		_, err = txn.Commit(t.Context(), storage.Buffered)
		bsontest.Must(t, err)
		close(begun)
		<-taken
		return frozen("db.c")(m)
	})
	close(goOn)
	<-again
	if !r.Peek().Collection(ns("db.c")).Frozen {
		t.Error("an older state has undone the freeze: the collection has writers again")
	}
	stop()
	<-ended
	store.looked = nil
	r.change(renamed("db.c", "db.d"))
	if coll := r.Peek().Collection(ns("db.d")); coll == nil || !coll.Frozen {
		t.Error("the next change is not made over this one")
	}
}

// notes returns the notes that servers have written.
func (r *room) notes() (all string) {
	r.t.Helper()
	s, err := r.store.Snapshot(r.t.Context(), 0)
	bsontest.Must(r.t, err)
	defer s.Close()
	it, err := s.Iter(r.t.Context(), keyspace.MetaPrefixRange(keyspace.MetaVersion, []byte(keyspace.ChangePrefix)), storage.IterOptions{})
	bsontest.Must(r.t, err)
	defer it.Close()
	for it.Next() {
		all += fmt.Sprintf("%x=%x ", it.Key(), it.Value())
	}
	bsontest.Must(r.t, it.Err())
	return all
}

// The change after an undetermined one writes a note with another value. With the same value,
// peers would not notice the second change.
func TestNoteAfterUnknown(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			faults := faultkv.New(memkv.Open(memkv.Options{}), 1)
			store := &among{Store: faults}
			c, err := catalog.Open(t.Context(), store, release.Default)
			bsontest.Must(t, err)
			r := &room{c, t, store}
			r.create("db.c", "{}")
			faults.SetRules(faultkv.Rule{Op: faultkv.Commit, Times: 1, Err: storage.ErrUndetermined, After: arrives},
				faultkv.Rule{Op: faultkv.Begin, Skip: 1, Err: storage.ErrUnavailable})
			if err := r.Change(t.Context(), renamed("db.c", "db.d")); !errors.Is(err, storage.ErrUndetermined) {
				t.Fatalf("got %v", err)
			}
			faults.SetRules()
			time.Sleep(time.Minute)
			before := r.notes()
			name := map[bool]string{true: "db.d", false: "db.c"}[arrives]
			r.change(frozen(name))
			if r.notes() == before {
				t.Errorf("arrives %v: the next change has the same note", arrives)
			}
			bsontest.Must(t, store.Close())
		})
	}
}
