// Package savedsettings stores settings of the server that survive a restart: one document for each name, under keys
// of their own beside the catalog. A package of commands caches the values of its settings in memory; if there are
// peers, it also applies changes that they make.
package savedsettings

import (
	"context"
	"errors"
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// read reads a setting; nil if it was never saved.
func read(ctx context.Context, r storage.Reader, name string) (bson.Raw, error) {
	b, err := r.Get(ctx, key(name), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return bson.Raw(b), err
}

func key(name string) []byte { return keyspace.AppendMeta(nil, keyspace.MetaSetting, []byte(name)) }

// change writes the document that next returns as the setting with a name, and returns when it is durable; if next
// returns nil, nothing changes. next is called again after a write conflict with a peer. at is the timestamp of the
// commit, or of the read if nothing changes.
func change(ctx context.Context, s storage.Store, name string, next func(t storage.Txn, was bson.Raw) (bson.Raw, error)) (at storage.Timestamp, err error) {
	err = storage.RetryConflicts(ctx, func() error {
		t, err := s.Begin(ctx, storage.TxnOptions{})
		if err != nil {
			return err
		}
		defer t.Close()
		was, err := read(ctx, t, name)
		if err != nil {
			return err
		}
		doc, err := next(t, was)
		if err != nil || doc == nil {
			at = t.ReadTimestamp()
			return err
		}
		if err := t.Set(key(name), doc); err != nil {
			return err
		}
		if err := keyspace.TouchTopic(ctx, s, t, topic(name)); err != nil {
			return err
		}
		at, err = t.Commit(ctx, storage.Synced)
		return err
	})
	return at, err
}

// Change sets a setting to the document that next returns, and returns when it is durable. was is the present
// document, nil if the setting was never saved. If next returns nil, nothing changes. Errors: errors of next and of
// the store.
func Change(ctx context.Context, s storage.Store, name string, next func(was bson.Raw) (bson.Raw, error)) error {
	_, err := change(ctx, s, name, func(_ storage.Txn, was bson.Raw) (bson.Raw, error) { return next(was) })
	return err
}

// topic returns the name under which servers over one store announce changes of a setting to each other, because
// each caches the setting in memory.
func topic(name string) string { return "setting." + name }

// Setting is a setting with its value cached in memory.
type Setting struct {
	sync.Mutex // guards the cached value, which apply sets

	store storage.Store
	name  string
	apply func(doc bson.Raw)

	changes     sync.Mutex // held during a change
	peers       Follower
	appliedUpTo storage.Timestamp // of the document that was applied last
}

// Follower applies the changes of peers over the same store.
type Follower interface {
	// OnTopic sets the function load, which is called after a peer has changed the topic, with a snapshot that
	// contains the change.
	OnTopic(topic string, load func(ctx context.Context, r storage.Reader) error)
	// WaitAppliedByAll waits until all peers have applied every change with a timestamp up to at.
	WaitAppliedByAll(ctx context.Context, at storage.Timestamp) error
}

// Open reads the setting with a name from the store s, and follows changes that peers make. take sets the cached
// value from a document, nil if the setting was never saved; the mutex of x is locked during take.
func (x *Setting) Open(ctx context.Context, s storage.Store, peers Follower, name string, take func(doc bson.Raw)) error {
	x.store, x.peers, x.name, x.apply = s, peers, name, take
	peers.OnTopic(topic(name), x.reload)
	r, err := s.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	return x.reload(ctx, r)
}

// reload sets the cached value from a snapshot, after a peer changed the setting, unless the cached value is newer.
func (x *Setting) reload(ctx context.Context, r storage.Reader) error {
	doc, err := read(ctx, r, x.name)
	if err != nil {
		return err
	}
	x.Lock()
	defer x.Unlock()
	x.setIfNewer(doc, r.ReadTimestamp())
	return nil
}

// setIfNewer sets the cached value from a document with the timestamp at, unless the value is newer. The caller
// holds the mutex.
func (x *Setting) setIfNewer(doc bson.Raw, at storage.Timestamp) {
	if at >= x.appliedUpTo {
		x.appliedUpTo = at
		x.apply(doc)
	}
}

// Change stores the document that next returns as the setting, and then applies it at this server and waits until
// all peers have applied it. next is called with the mutex locked, when the cached value is that of the store, and
// again after a write conflict; if it returns nil, nothing changes. Errors: errors of next and of the store, before
// the change; errors of the wait for peers, after it.
func (x *Setting) Change(ctx context.Context, next func() (bson.Raw, error)) error {
	x.changes.Lock()
	var doc bson.Raw
	at, err := change(ctx, x.store, x.name, func(t storage.Txn, was bson.Raw) (bson.Raw, error) {
		x.Lock()
		defer x.Unlock()
		if !storage.Exclusive(x.store) { // a peer may have changed the value
			x.setIfNewer(was, t.ReadTimestamp())
		}
		var err error
		doc, err = next()
		return doc, err
	})
	if err == nil && doc != nil {
		x.Lock()
		x.setIfNewer(doc, at)
		x.Unlock()
	}
	x.changes.Unlock()
	if err != nil || doc == nil {
		return err
	}
	return x.peers.WaitAppliedByAll(ctx, at)
}
