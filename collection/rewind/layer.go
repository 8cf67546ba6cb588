package rewind

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/collection/write"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
	"github.com/cantledb/cantle/storage/writebuf"
)

// ErrMultikey is the error of a read in the past by an index that was made later than this time and is not multikey,
// although the old documents have arrays in its fields.
var ErrMultikey = errors.New("rewind: an index made later has met no arrays yet")

// build returns the layer of a collection: the keys that differ from the snapshot at the state's time. The finished
// layers of other collections hold others bytes, which count in the same limit.
func (s *State) build(env *mql.Env, coll *catalog.Collection, others int64) (*writebuf.Buffer, error) {
	docs, size, err := s.documents(env, coll.ID, others)
	if err != nil {
		return nil, err
	}
	over := newScratch(s.base)
	full := func() error {
		n := layerBytes(over.buf)
		if n > LayerBytesMax {
			return ErrTooMuch
		}
		return s.held.cover(others + size + n)
	}
	r := restoring{env: env, coll: coll, txn: over, targets: map[shard.ID]*write.Target{}}
	var present []byte
	// All present versions of the documents are erased before old ones are added, so that no unique value is taken
	// twice on the way.
	for key, doc := range docs {
		if present, err = s.present(env, []byte(key), present); err != nil {
			return nil, err
		}
		switch {
		case bytes.Equal(present, doc):
			delete(docs, key)
		case len(present) > 0:
			if err := r.erase([]byte(key), present); err != nil {
				return nil, err
			}
		}
		if err := full(); err != nil {
			return nil, err
		}
	}
	for key, doc := range docs {
		if doc == nil {
			continue
		}
		if err := r.restore([]byte(key), doc); err != nil {
			return nil, err
		}
		if err := full(); err != nil {
			return nil, err
		}
	}
	return over.buf, nil
}

// documents reads the log backwards, down to the state's time. It returns the collection's documents that were
// changed since, by record key, as they were at that time; nil for one that did not exist. size is their memory in
// bytes; the layers of other collections hold others bytes.
func (s *State) documents(env *mql.Env, id keyspace.CollectionID, others int64) (docs map[string]bson.Raw, size int64, err error) {
	docs = map[string]bson.Raw{}
	var key, scratch []byte
	var bad error
	step := func(ts storage.Timestamp, enc []byte) error {
		if err := env.Tick(); err != nil {
			return err
		}
		op, owner, ok := changelog.Peek(enc)
		if !ok {
			return changelog.ErrFormat
		}
		if owner != id || op > changelog.Delete {
			return nil
		}
		rec, err := changelog.Decode(enc)
		if err != nil {
			return err
		}
		key = keyspace.AppendRecord(key[:0], id, rec.Position, rec.ID)
		doc, known := docs[string(key)]
		if !known {
			if doc, err = s.present(env, key, nil); err != nil {
				return err
			}
			size += entryBytes + int64(len(key))
		} else {
			size -= int64(len(doc))
		}
		if (rec.Op == changelog.Delete) != (doc == nil) {
			return fmt.Errorf("%w: the log tells of another document at %s, %s", storage.ErrCorruption, keyspace.Pretty(key), ts)
		}
		if rec.Op == changelog.Insert {
			doc = nil
		} else {
			if len(rec.Pre) == 0 && len(rec.Undo) == 0 {
				return storage.ErrSnapshotTooOld
			}
			if scratch, err = rec.Before(scratch[:0], doc); err != nil {
				return err
			}
			doc = append(doc[:0], scratch...)
		}
		docs[string(key)] = doc
		if size += int64(len(doc)); size > LayerBytesMax {
			return ErrTooMuch
		}
		return s.held.cover(others + size)
	}
	err = s.readBack(env.Context(), func(ts storage.Timestamp, enc []byte) bool {
		bad = step(ts, enc)
		return bad == nil
	})
	if bad != nil {
		err = bad
	}
	return docs, size, err
}

// layerBytes returns the memory of a layer.
func layerBytes(b *writebuf.Buffer) int64 { return int64(b.Bytes()) + entryBytes*int64(b.Len()) }

// present returns the document under a record key in the newest state, or nil if there is none. The result is
// appended to dst[:0].
func (s *State) present(env *mql.Env, key, dst []byte) ([]byte, error) {
	doc, err := s.base.Get(env.Context(), key, dst[:0])
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	return doc, err
}

// restoring writes documents and their index entries into a layer.
type restoring struct {
	env     *mql.Env
	coll    *catalog.Collection
	txn     *scratch
	targets map[shard.ID]*write.Target
}

func (r *restoring) erase(key []byte, doc bson.Raw) error {
	t, h := r.target(key)
	return t.Erase(r.env, doc, h)
}

func (r *restoring) restore(key []byte, doc bson.Raw) error {
	t, h := r.target(key)
	return t.Restore(r.env, doc, h)
}

// target returns the write.Target by which documents of a record key's shard, the one that has the key at present, are
// written into the layer.
func (r *restoring) target(key []byte) (*write.Target, keyspace.Hash) {
	_, h, id, _ := keyspace.SplitRecord(key)
	d := r.coll.Map.Find(h, id)
	t := r.targets[d.ID]
	if t == nil {
		t = &write.Target{Coll: r.coll, Shard: d, Txn: r.txn, Silent: true, Bypass: true,
			Multikey: func(*catalog.Index, index.MultikeyPaths) error { return ErrMultikey }}
		r.targets[d.ID] = t
	}
	return t, h
}
