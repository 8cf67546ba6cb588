package jobs

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/storage"
)

// fetch prefetches the keys that a batch is about to read one by one from a remote store: one round trip replaces
// hundreds. For other stores it does nothing, and does not compute the keys. Errors: storage errors.
func fetch(ctx context.Context, txn storage.Txn, keys func() ([][]byte, error)) error {
	far, ok := txn.(storage.Fetcher)
	if !ok {
		return nil
	}
	list, err := keys()
	if err != nil {
		return err
	}
	return far.Prefetch(ctx, list, false)
}

// fetchBuild prefetches, as fetch does, the keys that a build looks up for documents in the indexes that are being
// built.
func (b *batch) fetchBuild(ixs []*catalog.Index, list []row) error {
	return fetch(b.env.Context(), b.txn, func() (keys [][]byte, err error) {
		for i := range list {
			row := &list[i]
			t := b.target(b.coll.Map.Find(row.hash, row.id))
			for _, ix := range ixs {
				keys = t.AppendBuildLookups(b.env, keys, ix, row.doc)
			}
		}
		return keys, nil
	})
}

// fetchInserts prefetches, as fetch does, the keys that the insertion of documents into the copy of a Reshard looks
// up; nil documents are skipped.
func (f *filling) fetchInserts(docs []bson.Raw) error {
	return fetch(f.c.ctx, f.txn, func() (keys [][]byte, err error) {
		for _, doc := range docs {
			if doc == nil {
				continue
			}
			h, err := f.c.to.Position(doc)
			if err != nil {
				return nil, err
			}
			keys = f.target(f.c.to.Home(doc, h)).AppendLookups(f.b.env, keys, doc, h)
		}
		return keys, nil
	})
}

// fetchPlaces prefetches, as fetch does, the keys that filling.take reads: the documents at places of the old
// collection, their positions in the copy, and then the documents there.
func (f *filling) fetchPlaces(places [][]byte) error {
	ctx := f.c.ctx
	err := fetch(ctx, f.txn, func() (keys [][]byte, err error) {
		for _, place := range places {
			keys = append(keys, recordAt(f.c.from.ID, place), f.c.originKey(place))
		}
		return keys, nil
	})
	if err != nil {
		return err
	}
	return fetch(ctx, f.txn, func() (keys [][]byte, err error) {
		for _, place := range places {
			at, err := f.txn.Get(ctx, f.c.originKey(place), nil)
			switch {
			case err == nil:
				keys = append(keys, recordAt(f.c.to.ID, at))
			case !errors.Is(err, storage.ErrNotFound):
				return nil, err
			}
		}
		return keys, nil
	})
}
