// Package kept has the settings of the server that last beyond a restart: a document for each
// name, under a key of its own beside the catalog's. A room has in memory what its documents
// say; where several processes use the store it takes over what the others change.
package kept

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

// change writes what next makes of a setting and waits until that is durable; nil changes
// nothing. next is called again after a conflict with another process.
func change(ctx context.Context, s storage.Store, name string, next func(t storage.Txn, was bson.Raw) (bson.Raw, error)) (at storage.Timestamp, err error) {
	err = storage.Again(ctx, func() error {
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

// Change makes a setting what next makes of it, nil if it was never saved, and waits until that
// is durable. Errors: those of next and of the store.
func Change(ctx context.Context, s storage.Store, name string, next func(was bson.Raw) (bson.Raw, error)) error {
	_, err := change(ctx, s, name, func(_ storage.Txn, was bson.Raw) (bson.Raw, error) { return next(was) })
	return err
}

// topic names a setting among what several processes have in memory.
func topic(name string) string { return "setting." + name }

// Setting is a setting with what a room has made of it in memory.
type Setting struct {
	sync.Mutex // guards what Take makes

	name string
	take func(doc bson.Raw)

	changes    sync.Mutex                                            // is held by who changes it
	everywhere func(ctx context.Context, at storage.Timestamp) error // nil: there are no others
	asOf       storage.Timestamp                                     // of the document that was taken last
}

// Follower calls for what other processes over the store have changed.
type Follower interface {
	// OnTopic sets what is called with a state in which others have changed a topic.
	OnTopic(topic string, load func(ctx context.Context, r storage.Reader) error)
	// Everywhere waits until all others have taken over what was committed up to a time.
	Everywhere(ctx context.Context, at storage.Timestamp) error
}

// Open reads the setting of a name for the first time and follows it. take makes what a
// document says what holds from then on, with nil if it was never saved; the mutex is held.
func (x *Setting) Open(ctx context.Context, s storage.Store, others Follower, name string, take func(doc bson.Raw)) error {
	x.name, x.take = name, take
	if others != nil && storage.AsShared(s) != nil {
		x.everywhere = others.Everywhere
		others.OnTopic(topic(name), x.reload)
	}
	r, err := s.Snapshot(ctx, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	return x.reload(ctx, r)
}

// reload takes what a reader finds, unless there is something newer.
func (x *Setting) reload(ctx context.Context, r storage.Reader) error {
	doc, err := read(ctx, r, x.name)
	if err != nil {
		return err
	}
	x.Lock()
	defer x.Unlock()
	x.taken(doc, r.ReadTimestamp())
	return nil
}

// taken takes a document of a time. The mutex is held.
func (x *Setting) taken(doc bson.Raw, at storage.Timestamp) {
	if at >= x.asOf {
		x.asOf = at
		x.take(doc)
	}
}

// Change keeps what next makes of the setting and then lets it take effect, here and at all other
// processes over the store. next is called with the mutex held, when what is in memory
// is what the store has, and again after a conflict; nil changes nothing.
// Errors: those of next and of the store; then nothing has changed.
func (x *Setting) Change(ctx context.Context, s storage.Store, next func() (bson.Raw, error)) error {
	x.changes.Lock()
	var doc bson.Raw
	at, err := change(ctx, s, x.name, func(t storage.Txn, was bson.Raw) (bson.Raw, error) {
		x.Lock()
		defer x.Unlock()
		if x.everywhere != nil {
			x.taken(was, t.ReadTimestamp())
		}
		var err error
		doc, err = next()
		return doc, err
	})
	if err == nil && doc != nil {
		x.Lock()
		x.taken(doc, at)
		x.Unlock()
	}
	x.changes.Unlock()
	if err != nil || doc == nil || x.everywhere == nil {
		return err
	}
	return x.everywhere(ctx, at)
}
