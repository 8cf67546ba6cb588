package write

import (
	"bytes"
	"errors"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// entrySet holds the index entries of one document in one index: encoded values with their type bits, distinct and
// ascending. Updates compare two sets. Their memory is reused for the next document.
type entrySet struct {
	list []entry
	mem  []byte
}

type entry struct{ values, bits []byte }

// reset removes the entries.
func (s *entrySet) reset() {
	clear(s.list)
	if s.list, s.mem = s.list[:0], s.mem[:0]; cap(s.mem) > keepBytes {
		*s = entrySet{}
	}
}

// load computes the entries of doc.
func (s *entrySet) load(env *mql.Env, t *Target, ix *catalog.Index, doc bson.Raw) (index.MultikeyPaths, error) {
	s.list, s.mem = s.list[:0], s.mem[:0]
	paths, err := ix.Keys(env, doc, &t.scratch, func(values, bits []byte) error {
		at := len(s.mem)
		s.mem = append(append(s.mem, values...), bits...)
		s.list = append(s.list, entry{s.mem[at : at+len(values)], s.mem[at+len(values):]})
		return nil
	})
	if o := &t.Coll.Options; err != nil && o.TimeSeries != nil {
		err = index.OfBuckets(err, o.MetaField)
	}
	return paths, err
}

// maintained reports whether writes of documents keep the entries of the index: not if it is being dropped. The _id_
// index has entries only if PhysicalID; else the record keys are in its order.
func (t *Target) maintained(ix *catalog.Index) bool {
	return ix.State != catalog.IndexDropping && (ix.ID != 1 || t.Coll.PhysicalID())
}

// addEntries writes all index entries of a new document and returns their weight for the charge, without that of
// _id.
func (t *Target) addEntries(env *mql.Env, doc bson.Raw, h keyspace.Hash) (weight int64, err error) {
	for _, ix := range t.Coll.Indexes {
		if !t.maintained(ix) {
			continue
		}
		if ix.LastWrite {
			if err := t.stamp(env, ix, doc, h); err != nil {
				return 0, err
			}
			weight++
			continue
		}
		if err := t.loadNew(env, ix, doc); err != nil {
			return 0, err
		}
		for _, e := range t.newKeys.list {
			if err := t.set(env, ix, e, doc, h); err != nil {
				return 0, err
			}
			if ix.ID != 1 {
				weight += t.weight(env, ix, e)
			}
			if err := t.checkCap(env, weight, 0); err != nil {
				return 0, err
			}
		}
	}
	return weight, nil
}

// loadNew computes the entries in one index of a document to be written. If they contain arrays where the index had
// none yet, it marks the index multikey.
func (t *Target) loadNew(env *mql.Env, ix *catalog.Index, doc bson.Raw) error {
	t.scratch.Reset()
	paths, err := t.newKeys.load(env, t, ix, doc)
	if err != nil {
		return err
	}
	if !ix.Multikey.Covers(paths) {
		return t.Multikey(ix, paths)
	}
	return nil
}

func (t *Target) removeEntries(env *mql.Env, doc bson.Raw, h keyspace.Hash) (weight int64, err error) {
	for _, ix := range t.Coll.Indexes {
		if !t.maintained(ix) {
			continue
		}
		if ix.LastWrite {
			if err := t.unstamp(env, ix, h); err != nil {
				return 0, err
			}
			weight++
			continue
		}
		t.scratch.Reset()
		if _, err := t.oldKeys.load(env, t, ix, doc); err != nil {
			return 0, err
		}
		for _, e := range t.oldKeys.list {
			if err := t.unset(env, ix, e, h); err != nil {
				return 0, err
			}
			if ix.ID != 1 {
				weight += t.weight(env, ix, e)
			}
			if err := t.checkCap(env, 0, weight); err != nil {
				return 0, err
			}
		}
	}
	return weight, nil
}

// changeEntries writes the difference between the index entries of two versions of a document. removed and added are
// the weights of the entries, for the charge.
func (t *Target) changeEntries(env *mql.Env, old, doc bson.Raw, h keyspace.Hash) (removed, added int64, err error) {
	for _, ix := range t.Coll.Indexes {
		if ix.ID == 1 || !t.maintained(ix) {
			continue // _id never changes
		}
		if ix.LastWrite {
			if err := t.restamp(env, ix, doc, h); err != nil {
				return 0, 0, err
			}
			removed, added = removed+1, added+1
			continue
		}
		t.scratch.Reset()
		if _, err := t.oldKeys.load(env, t, ix, old); err != nil {
			return 0, 0, err
		}
		if err := t.loadNew(env, ix, doc); err != nil {
			return 0, 0, err
		}
		i, j := 0, 0
		a, b := t.oldKeys.list, t.newKeys.list
		for i < len(a) || j < len(b) {
			c := 0
			switch {
			case i == len(a):
				c = 1
			case j == len(b):
				c = -1
			default:
				c = bytes.Compare(a[i].values, b[j].values)
			}
			switch {
			case c < 0:
				if err := t.unset(env, ix, a[i], h); err != nil {
					return 0, 0, err
				}
				removed += t.weight(env, ix, a[i])
				i++
			case c > 0:
				if err := t.set(env, ix, b[j], doc, h); err != nil {
					return 0, 0, err
				}
				added += t.weight(env, ix, b[j])
				j++
			default:
				if !bytes.Equal(a[i].bits, b[j].bits) {
					if err := t.replace(env, ix, b[j], h); err != nil {
						return 0, 0, err
					}
				}
				i++
				j++
			}
			if err := t.checkCap(env, added, removed); err != nil {
				return 0, 0, err
			}
		}
	}
	return removed, added, nil
}

// checkCap ends a write whose index entries so far take the command beyond its cap; they are charged.
// Errors: *ratelimit.CapReached.
func (t *Target) checkCap(env *mql.Env, added, removed int64) error {
	err := env.Meter.CheckCapForTerms(added, removed)
	if err != nil {
		env.Meter.Terms(int(t.Shard.ID), added, removed)
	}
	return err
}

// weight returns the weight of one index entry in the price list: its size in units, or the number of its fields if
// that is larger.
func (t *Target) weight(env *mql.Env, ix *catalog.Index, e entry) int64 {
	return max(env.Meter.TermWeight(len(e.values)), int64(ix.About()))
}

// entryKey returns the key of an entry in partition p.
func (t *Target) entryKey(ix *catalog.Index, e entry, h keyspace.Hash, p keyspace.PartitionID) []byte {
	if ix.Unique {
		t.record = keyspace.AppendUnique(t.record[:0], t.Coll.ID, ix.ID, p, e.values)
	} else {
		t.record = keyspace.AppendEntry(t.record[:0], t.Coll.ID, ix.ID, p, e.values, h, t.id)
	}
	return t.record
}

// set writes a new index entry of a document. If the index is unique or prepareUnique, it first checks every index
// partition that may hold an entry with the same values. Errors: DuplicateKey (11000).
func (t *Target) set(env *mql.Env, ix *catalog.Index, e entry, doc bson.Raw, h keyspace.Hash) error {
	if ix.Unique {
		for _, p := range t.Shard.Partitions {
			if err := t.claim(t.entryKey(ix, e, h, p)); err != nil {
				return err
			}
			taken, err := t.Txn.Has(env.Context(), t.entryKey(ix, e, h, p))
			if err != nil {
				return err
			}
			if taken {
				env.Meter.Add(int(t.Shard.ID), ratelimit.Failure, 1)
				return t.duplicate(ix, doc, e)
			}
		}
		// A writer that still uses the shard map from before a split writes the same values to an older partition:
		// only the lock makes the two conflict.
		for _, p := range t.Shard.Partitions[:len(t.Shard.Partitions)-1] {
			if err := t.Txn.Lock(env.Context(), t.entryKey(ix, e, h, p)); err != nil {
				return err
			}
		}
	} else if ix.PrepareUnique && ix.State == catalog.IndexReady { // an index that is being built may have duplicates
		if err := t.prepareUnique(env, ix, e, doc, h); err != nil {
			return err
		}
	}
	return t.put(ix, e, h)
}

// replace writes new type bits of an existing index entry. If the shard has several index partitions, the entry
// moves to the newest one.
func (t *Target) replace(env *mql.Env, ix *catalog.Index, e entry, h keyspace.Hash) error {
	if !t.Shard.Settled() {
		if err := t.unset(env, ix, e, h); err != nil {
			return err
		}
	}
	return t.put(ix, e, h)
}

// put writes an entry into the newest partition.
func (t *Target) put(ix *catalog.Index, e entry, h keyspace.Hash) error {
	key := t.entryKey(ix, e, h, t.Shard.Newest())
	n := len(key)
	var value []byte
	if ix.Unique {
		value = keyspace.AppendUniqueValue(key, h, t.id, e.bits)[n:]
	} else {
		value = keyspace.AppendEntryValue(key, e.bits)[n:]
	}
	return t.Txn.Set(key[:n:n], value)
}

// unset removes an entry from every partition that may hold it.
func (t *Target) unset(env *mql.Env, ix *catalog.Index, e entry, h keyspace.Hash) error {
	for _, p := range t.Shard.Partitions {
		key := t.entryKey(ix, e, h, p)
		if ix.Unique {
			if err := t.claim(key); err != nil {
				return err
			}
		}
		if ix.Unique && ix.State == catalog.IndexBuilding {
			// In a unique index that is being built, two documents may still have the same values: the entry can
			// belong to the other one. Because of the lock, a build that adds the entry of this document at the same
			// time conflicts.
			own, err := t.owns(env, key, h)
			if err != nil {
				return err
			}
			if !own {
				if err := t.Txn.Lock(env.Context(), key); err != nil {
					return err
				}
				continue
			}
		}
		if err := t.Txn.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

// duplicate returns the error for a second document with values that a unique index already has.
func (t *Target) duplicate(ix *catalog.Index, doc bson.Raw, e entry) error {
	kv := keyValue(ix, doc, e)
	return mongoerr.Duplicate(t.Coll.Namespace.String(), ix.Name, kv.String(), ix.Key, kv)
}

// keyValue returns the indexed values of a document by the names of the fields, for the error of a duplicate: those
// of the entry that collides, or those of the document if the entry does not hold them (the record key; keys under a
// collation). A missing field is indexed as null, so it is null here.
// Manual: core/index-unique#unique-index-and-missing-field.
func keyValue(ix *catalog.Index, doc bson.Raw, e entry) bson.Raw {
	b := bson.NewBuilder(nil)
	if e.values == nil || ix.Collation != nil {
		for _, p := range ix.Parts {
			v := p.Path.Get(doc)
			if v.IsMissing() {
				v = bson.Null
			}
			b.Value(p.Path.String(), v)
		}
		return b.Doc()
	}
	dec := keystring.NewDecoder(e.bits)
	rest := e.values
	for i, name := range ix.Fields() {
		var err error
		n := b.Len()
		if rest, err = dec.Value(b, name, rest, ix.Dirs()[i]); err != nil {
			break
		}
		if b.Len() == n {
			b.Null(name)
		}
	}
	return b.Doc()
}

// Build adds the entries of one existing document to an index being built, and returns their weight for the charge.
// In a unique index, it skips entries that a writer has already added. Errors: DuplicateKey (11000), the errors of
// index keys, storage errors.
func (t *Target) Build(env *mql.Env, ix *catalog.Index, doc bson.Raw, h keyspace.Hash) (weight int64, err error) {
	if err := t.recordKey(doc, h); err != nil {
		return 0, err
	}
	if ix.LastWrite {
		return 1, t.restamp(env, ix, doc, h)
	}
	if err := t.loadNew(env, ix, doc); err != nil {
		return 0, err
	}
	for _, e := range t.newKeys.list {
		if ix.Unique {
			own, err := t.ownEntry(env, ix, e, h)
			if err != nil {
				return 0, err
			}
			if own {
				continue
			}
		}
		if err := t.set(env, ix, e, doc, h); err != nil {
			return 0, err
		}
		weight += t.weight(env, ix, e)
	}
	return weight, nil
}

// ownEntry reports whether a unique index already has the entry e, in any index partition of the shard, and the
// entry belongs to the target's current document.
func (t *Target) ownEntry(env *mql.Env, ix *catalog.Index, e entry, h keyspace.Hash) (bool, error) {
	for _, p := range t.Shard.Partitions {
		if own, err := t.owns(env, t.entryKey(ix, e, h, p), h); own || err != nil {
			return own, err
		}
	}
	return false, nil
}

// owns reports whether the entry of a unique index at key exists and belongs to the target's current document.
func (t *Target) owns(env *mql.Env, key []byte, h keyspace.Hash) (bool, error) {
	v, err := t.Txn.Get(env.Context(), key, nil)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return bytes.HasPrefix(v, append(h.Append(nil), t.id...)), nil
}
