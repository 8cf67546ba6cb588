package cluster

import (
	"bytes"
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Validation is what Validate found at one snapshot.
type Validation struct {
	Coll *catalog.Collection
	// Records is how many there are, Invalid how many are damaged or lie where
	// they do not belong, NonCompliant how many the validator refuses.
	Records, Invalid, NonCompliant int64
	Indexes                        []IndexValidation // as in Coll.Indexes
	Corrupt                        []bson.Raw        // keys of damaged records
	Counted                        bool              // Counters compared below
	Counter                        int64             // what count answers without a filter
}

// IndexValidation is what Validate found of one index.
type IndexValidation struct {
	Index   *catalog.Index
	Keys    int64      // entries that belong to a record
	Missing []bson.Raw // {indexName, recordId, idKey, indexKey}: entries that should be there
	Extra   []bson.Raw // entries of no record
	// MissingCount and ExtraCount also count what is not listed.
	MissingCount, ExtraCount int64
	found                    int64 // entries that records should have and do
}

// Valid reports an index in step with its records.
func (x *IndexValidation) Valid() bool { return x.MissingCount == 0 && x.ExtraCount == 0 }

// findingsMax is how many differences of one kind are listed.
const findingsMax = 100

// Validate reads every record and every index entry of a collection at one
// snapshot and compares them. Nothing is changed.
// Manual: reference/command/validate. Errors: NamespaceNotFound (26),
// CommandNotSupportedOnView (166).
func (c *Cluster) Validate(o *Op, ns collection.Namespace) (*Validation, error) {
	view, err := c.view(o, ns)
	if err != nil {
		return nil, err
	}
	defer view.close()
	coll, err := view.snap.Lookup(ns)
	if err != nil {
		return nil, err
	}
	x := &validator{env: o.Env.WithCollation(coll.Options.Collation), ctx: o.Env.Context(), coll: coll, r: view.reader, v: &Validation{Coll: coll}}
	for _, ix := range coll.Indexes {
		x.v.Indexes = append(x.v.Indexes, IndexValidation{Index: ix})
	}
	if err := x.records(); err != nil {
		return nil, err
	}
	for i := range x.v.Indexes {
		if x.stored(x.v.Indexes[i].Index) {
			if err := x.entries(&x.v.Indexes[i]); err != nil {
				return nil, err
			}
		} else {
			x.v.Indexes[i].Keys = x.v.Records
		}
	}
	x.v.Counter, x.v.Counted = c.Tally.Of(coll.ID).Total(coll.Map).Docs, true
	return x.v, nil
}

// validator is one Validate under way.
type validator struct {
	env     *mql.Env
	ctx     context.Context
	coll    *catalog.Collection
	r       storage.Reader
	v       *Validation
	scratch expr.Scratch
	key     []byte
}

// stored reports an index with entries of its own that are complete.
func (x *validator) stored(ix *catalog.Index) bool {
	return ix.State == catalog.IndexReady && !ix.LastWrite && (ix.ID != x.coll.IDIndex().ID || x.coll.PhysicalID())
}

// records looks at every record and at the entries it should have.
func (x *validator) records() error {
	it, err := x.r.Iter(x.ctx, keyspace.RecordRange(x.coll.ID), storage.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Next() {
		if err := x.env.Tick(); err != nil {
			return err
		}
		x.v.Records++
		_, h, id, ok := keyspace.SplitRecord(it.Key())
		doc, err := bson.Parse(it.Value(), bson.Limits{Bytes: bson.MaxInternalBytes})
		if !ok || err != nil || !x.placed(doc, h, id) {
			x.v.Invalid++
			if len(x.v.Corrupt) < findingsMax {
				b := bson.NewBuilder(nil)
				b.Binary("recordId", 0, it.Key())
				x.v.Corrupt = append(x.v.Corrupt, b.Doc())
			}
			continue
		}
		if err := x.compliant(doc); err != nil {
			return err
		}
		if err := x.expected(doc, h, id); err != nil {
			return err
		}
	}
	return it.Err()
}

// placed reports that a record lies where its _id and shard key say.
func (x *validator) placed(doc bson.Raw, h keyspace.Hash, id []byte) bool {
	if !x.coll.Placed(doc, h) {
		return false
	}
	x.key = x.coll.AppendID(x.key[:0], doc)
	return bytes.Equal(x.key, id)
}

func (x *validator) compliant(doc bson.Raw) error {
	f := x.coll.Options.Validator
	if f == nil || x.coll.Options.ValidationLevel == "off" {
		return nil
	}
	x.scratch.Reset()
	ok, err := f.Matches(x.env, doc, &x.scratch)
	if !ok && err == nil {
		x.v.NonCompliant++
	}
	return err
}

// expected looks for the entries that a record should have.
func (x *validator) expected(doc bson.Raw, h keyspace.Hash, id []byte) error {
	d := x.coll.Map.Find(h, id)
	for i := range x.v.Indexes {
		f := &x.v.Indexes[i]
		if !x.stored(f.Index) {
			continue
		}
		x.scratch.Reset()
		_, err := f.Index.Keys(x.env, doc, &x.scratch, func(values, _ []byte) error {
			found, err := x.has(f.Index, d, values, h, id)
			if found {
				f.found++
			}
			if err != nil || found {
				return err
			}
			f.MissingCount++
			if len(f.Missing) < findingsMax {
				f.Missing = append(f.Missing, finding(f.Index, doc.Get("_id"), id, values))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// has reports that an entry exists, in any partition of the shard, and belongs
// to the record.
func (x *validator) has(ix *catalog.Index, d *shard.Descriptor, values []byte, h keyspace.Hash, id []byte) (bool, error) {
	for _, p := range d.Partitions {
		if ix.Unique {
			x.key = keyspace.AppendUnique(x.key[:0], x.coll.ID, ix.ID, p, values)
		} else {
			x.key = keyspace.AppendEntry(x.key[:0], x.coll.ID, ix.ID, p, values, h, id)
		}
		v, err := x.r.Get(x.ctx, x.key, nil)
		if isNotFound(err) {
			continue
		}
		if err != nil || !ix.Unique {
			return err == nil, err
		}
		vh, vid, _, ok := keyspace.SplitUniqueValue(v, x.coll.IDParts(), skipKey)
		if ok && vh == h && bytes.Equal(vid, id) {
			return true, nil
		}
	}
	return false, nil
}

func skipKey(key []byte) int {
	n, err := keystring.Skip(key, keystring.Ascending)
	if err != nil {
		return -1
	}
	return n
}

// finding describes one entry that is missing or too many.
func finding(ix *catalog.Index, id bson.Value, idKey, values []byte) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("indexName", ix.Name)
	b.Binary("recordId", 0, idKey)
	b.Value("idKey", id)
	b.BeginDoc("indexKey")
	decoded := bson.NewArrayBuilder(nil)
	if _, err := keystring.Decode(decoded, values, ix.Dirs(), nil); err == nil {
		fields := ix.Fields()
		for i, v := 0, decoded.Doc().Iter(); v.Next() && i < len(fields); i++ {
			b.Value(fields[i], v.Value)
		}
	}
	b.End()
	return b.Doc()
}

// entries looks for the record of every entry of an index. Where there are as many
// entries as the records have asked for and found, each has its record, and nothing more
// is looked at: the keys of a document are made once, not once for each of them.
func (x *validator) entries(f *IndexValidation) error {
	n, err := x.countEntries(f.Index)
	if err != nil {
		return err
	}
	if n == f.found {
		f.Keys = n
		return nil
	}
	it, err := x.r.Iter(x.ctx, keyspace.IndexRange(x.coll.ID, f.Index.ID), storage.IterOptions{})
	if err != nil {
		return err
	}
	defer it.Close()
	var last []byte
	for it.Next() {
		if err := x.env.Tick(); err != nil {
			return err
		}
		e, ok := x.split(f.Index, it.Key(), it.Value())
		if ok {
			ok, err = x.belongs(f.Index, e)
		}
		if err != nil {
			return err
		}
		if ok {
			f.Keys++
			continue
		}
		last = append(last[:0], e.id...)
		f.ExtraCount++
		if len(f.Extra) < findingsMax {
			f.Extra = append(f.Extra, finding(f.Index, bson.Value{}, last, e.values))
		}
	}
	return it.Err()
}

// countEntries counts the entries of an index in all partitions.
func (x *validator) countEntries(ix *catalog.Index) (n int64, err error) {
	it, err := x.r.Iter(x.ctx, keyspace.IndexRange(x.coll.ID, ix.ID), storage.IterOptions{})
	if err != nil {
		return 0, err
	}
	defer it.Close()
	for it.Next() {
		if err := x.env.Tick(); err != nil {
			return n, err
		}
		n++
	}
	return n, it.Err()
}

// foundEntry is an index entry taken apart; its slices alias the iterator.
type foundEntry struct {
	partition  keyspace.PartitionID
	values, id []byte
	hash       keyspace.Hash
}

func (x *validator) split(ix *catalog.Index, key, value []byte) (e foundEntry, ok bool) {
	if _, _, e.partition, ok = keyspace.EntryOwner(key); !ok {
		return e, false
	}
	if ix.Unique {
		if e.values, ok = keyspace.SplitUnique(key); ok {
			e.hash, e.id, _, ok = keyspace.SplitUniqueValue(value, x.coll.IDParts(), skipKey)
		}
		return e, ok
	}
	e.values, e.hash, e.id, ok = keyspace.SplitEntry(key, ix.Width(), skipAny(ix))
	return e, ok
}

// skipAny skips the keystrings of an entry, each in its direction.
func skipAny(ix *catalog.Index) keyspace.Skipper {
	dirs, i := ix.Dirs(), 0
	return func(key []byte) int {
		n, err := keystring.Skip(key, dirs[i%len(dirs)])
		i++
		if err != nil {
			return -1
		}
		return n
	}
}

// belongs reports that the record of an entry exists and should have it.
func (x *validator) belongs(ix *catalog.Index, e foundEntry) (bool, error) {
	own := false
	for _, p := range x.coll.Map.Find(e.hash, e.id).Partitions {
		own = own || p == e.partition
	}
	if !own {
		return false, nil
	}
	doc, err := x.r.Get(x.ctx, keyspace.AppendRecord(nil, x.coll.ID, e.hash, e.id), nil)
	if isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	record, err := bson.Parse(doc, bson.Limits{Bytes: bson.MaxInternalBytes})
	if err != nil {
		return false, nil // the record itself is reported as damaged
	}
	x.scratch.Reset()
	found := false
	_, err = ix.Keys(x.env, record, &x.scratch, func(values, _ []byte) error {
		found = found || bytes.Equal(values, e.values)
		return nil
	})
	return found, err
}
