// Package kept has the settings of the server that last beyond a restart: a document for each
// name, under a key of its own beside the catalog's.
package kept

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Load reads a server-wide setting; nil if it was never saved.
func Load(ctx context.Context, s storage.Store, name string) (bson.Raw, error) {
	r, err := s.Snapshot(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := r.Get(ctx, keyspace.AppendMeta(nil, keyspace.MetaSetting, []byte(name)), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return bson.Raw(b), err
}

// Save writes a server-wide setting and waits until it is durable.
func Save(ctx context.Context, s storage.Store, name string, doc bson.Raw) error {
	return storage.Again(ctx, func() error {
		t, err := s.Begin(ctx, storage.TxnOptions{})
		if err != nil {
			return err
		}
		defer t.Close()
		if err := t.Set(keyspace.AppendMeta(nil, keyspace.MetaSetting, []byte(name)), doc); err != nil {
			return err
		}
		_, err = t.Commit(ctx, storage.Synced)
		return err
	})
}
