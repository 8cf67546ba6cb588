package verify

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Collection holds the findings for a collection at one snapshot.
type Collection struct {
	Coll *catalog.Collection
	// Records is the number of readable records. Invalid is the number of those that cannot be decoded or are stored
	// in the wrong place, NonCompliant that of those which the collection's validator rejects.
	Records, Invalid, NonCompliant int64
	Indexes                        []Index    // as in Coll.Indexes
	Corrupt                        []bson.Raw // keys of invalid records
	Places                         Places
	// Damages are the parts of files whose records or entries could not be read.
	Damages []storage.Damage
	// PerShard is the number of valid records of each shard, by the shard's index in the map.
	PerShard []int64
}

// Index holds the findings for one index.
type Index struct {
	Index   *catalog.Index
	Keys    int64      // entries that belong to a record
	Missing []bson.Raw // {indexName, recordId, idKey, indexKey}: entries that should exist
	Extra   []bson.Raw // entries without a record
	// MissingCount and ExtraCount also count entries that are not listed.
	MissingCount, ExtraCount int64
	// Multikey is the number of records with arrays in paths that the index does not record as holding arrays
	// (MultikeyPaths), so that queries may miss them.
	Multikey int64

	ledger *ledger
}

// Valid reports whether the index agrees with its records.
func (x *Index) Valid() bool { return x.MissingCount == 0 && x.ExtraCount == 0 && x.Multikey == 0 }

// Valid reports whether there are no findings besides NonCompliant.
func (v *Collection) Valid() bool {
	for i := range v.Indexes {
		if !v.Indexes[i].Valid() {
			return false
		}
	}
	return v.Invalid == 0 && v.Places.Wrong == 0 && len(v.Damages) == 0
}

// findingsMax bounds the listed differences of one kind.
const findingsMax = 100

// Check reads every record and every index entry of a collection in a snapshot and compares them. It calls progress,
// unless nil, now and then with the number of records and entries read since the last call. Indexes that are not
// ready, those by the last write, and an _id index without entries of its own are not compared. Damaged parts of
// files are skipped, and listed in Damages.
//
// Records and entries are compared by sums in buckets, so that the memory does not depend on their number; only where
// sums differ is each looked up. Manual: reference/command/validate. Errors: those of ctx, progress, storage, the
// validator and index keys.
func Check(env *mql.Env, r storage.Reader, coll *catalog.Collection, progress func(n int64) error) (*Collection, error) {
	if progress == nil {
		progress = func(int64) error { return nil }
	}
	x := &checker{env: env.WithCollation(coll.Options.Collation), ctx: env.Context(), coll: coll, r: r, progress: progress, v: &Collection{Coll: coll}}
	x.v.PerShard = make([]int64, len(coll.Map.Shards()))
	for _, ix := range coll.Indexes {
		x.v.Indexes = append(x.v.Indexes, Index{Index: ix, ledger: newLedger()})
	}
	if err := x.records(x.account); err != nil {
		return nil, err
	}
	if err := x.places(); err != nil {
		return nil, err
	}
	wrong := false
	for i := range x.v.Indexes {
		f := &x.v.Indexes[i]
		if !x.stored(f.Index) {
			f.Keys = x.v.Records
			continue
		}
		if err := x.entries(f, x.settle); err != nil {
			return nil, err
		}
		wrong = wrong || !f.ledger.even()
	}
	if !wrong {
		return x.v, nil
	}
	if err := x.records(x.lookFor); err != nil {
		return nil, err
	}
	for i := range x.v.Indexes {
		if f := &x.v.Indexes[i]; x.stored(f.Index) && !f.ledger.even() {
			if err := x.entries(f, x.lookUp); err != nil {
				return nil, err
			}
		}
	}
	return x.v, nil
}

// checker is a running Check.
type checker struct {
	env      *mql.Env
	ctx      context.Context
	coll     *catalog.Collection
	r        storage.Reader
	v        *Collection
	scratch  expr.Scratch
	key      []byte
	progress func(n int64) error
	read     int64 // since the last call of progress
}

// tick is called for each record and index entry that was read, with its size in bytes. After 1024 it reports the
// progress. It returns an error if the command must end.
func (x *checker) tick(bytes int) error {
	if x.read++; x.read == 1024 {
		if err := x.reportProgress(); err != nil {
			return err
		}
	}
	if err := x.env.Row(bytes); err != nil {
		return err
	}
	return x.env.Tick()
}

// reportProgress passes to progress what was read since the last call.
func (x *checker) reportProgress() error {
	n := x.read
	x.read = 0
	return x.progress(n)
}

// stored reports whether an index has entries of its own that are complete and determined by the documents, so that
// they can be checked.
func (x *checker) stored(ix *catalog.Index) bool {
	return ix.State == catalog.IndexReady && !ix.LastWrite && (ix.ID != x.coll.IDIndex().ID || x.coll.PhysicalID())
}

// each visits the entries of a range, skipping damaged parts.
func (x *checker) each(r storage.Range, visit func(key, value []byte) error) error {
	for !r.Empty() {
		last, err := x.pass(r, visit)
		var d *storage.DamagedError
		if err == nil || !errors.As(err, &d) {
			return err
		}
		if last != nil {
			r.Start = append(last, 0)
		}
		k := x.recordDamages(d, r)
		if bytes.Compare(k.Start, r.Start) > 0 {
			// The reader reads ahead: it has returned the error before all entries in front of the damage, so these
			// are read without reaching the damage.
			if _, err := x.pass(storage.Range{Start: r.Start, End: k.Start}, visit); err != nil && !errors.As(err, &d) {
				return err
			}
		}
		if k.End == nil {
			return nil
		}
		r.Start = k.End
	}
	return nil
}

// pass calls visit for the keys of a range as far as they can be read, and returns the last key.
func (x *checker) pass(r storage.Range, visit func(key, value []byte) error) (last []byte, err error) {
	it, err := x.r.Iter(x.ctx, r, storage.IterOptions{})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for it.Next() {
		value := it.Value()
		if it.Err() != nil {
			break
		}
		last = append(last[:0], it.Key()...)
		if err := x.tick(len(value)); err != nil {
			return last, err
		}
		if err := visit(it.Key(), value); err != nil {
			return last, err
		}
	}
	return last, it.Err()
}

// recordDamages adds the damages in an error to the result. It returns the keys of the first damage within the range
// r that has an end; zero if there is none.
func (x *checker) recordDamages(d *storage.DamagedError, r storage.Range) (first storage.Range) {
	for i := range d.Damages {
		x.note(d.Damages[i])
		k := d.Damages[i].Keys
		if k.End == nil || bytes.Compare(k.End, r.Start) <= 0 || r.End != nil && bytes.Compare(k.Start, r.End) >= 0 {
			continue
		}
		if first.End == nil || bytes.Compare(k.End, first.End) < 0 {
			first = k
		}
	}
	return first
}

// note records a damage once.
func (x *checker) note(d storage.Damage) {
	for _, known := range x.v.Damages {
		if known.File == d.File && known.What == d.What {
			return
		}
	}
	x.v.Damages = append(x.v.Damages, d)
}

// unread reports whether an error comes from damaged data; then it adds the damages to the result.
func (x *checker) unread(err error) bool {
	var d *storage.DamagedError
	if !errors.As(err, &d) {
		return false
	}
	for i := range d.Damages {
		x.note(d.Damages[i])
	}
	return true
}

// records checks every record; visit is called with the valid ones.
func (x *checker) records(visit func(doc bson.Raw, h keyspace.Hash, id []byte) error) error {
	x.v.Records, x.v.Invalid, x.v.NonCompliant, x.v.Corrupt = 0, 0, 0, nil
	clear(x.v.PerShard)
	return x.each(keyspace.RecordRange(x.coll.ID), func(key, value []byte) error {
		x.v.Records++
		if err := x.reportProgress(); err != nil { // one record may take long: it is large, or its validator is slow
			return err
		}
		_, h, id, ok := keyspace.SplitRecord(key)
		doc, err := bson.Parse(value, bson.Limits{Bytes: bson.MaxInternalBytes})
		if !ok || err != nil || !x.placed(doc, h, id) {
			x.v.Invalid++
			if len(x.v.Corrupt) < findingsMax {
				b := bson.NewBuilder(nil)
				b.Binary("recordId", 0, key)
				x.v.Corrupt = append(x.v.Corrupt, b.Doc())
			}
			return nil
		}
		if err := x.compliant(doc); err != nil {
			return err
		}
		d := x.coll.Map.Find(h, id)
		for i, s := range x.coll.Map.Shards() {
			if s.ID == d.ID {
				x.v.PerShard[i]++
			}
		}
		return visit(doc, h, id)
	})
}

// placed reports whether a record is stored under the key that follows from its _id and shard key.
func (x *checker) placed(doc bson.Raw, h keyspace.Hash, id []byte) bool {
	if !x.coll.AllowsPosition(doc, h) {
		return false
	}
	x.key = x.coll.AppendID(x.key[:0], doc)
	return bytes.Equal(x.key, id)
}

func (x *checker) compliant(doc bson.Raw) error {
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

// account adds the index entries that a record should have to the ledgers of the indexes, from which the stored
// entries are subtracted later.
func (x *checker) account(doc bson.Raw, h keyspace.Hash, id []byte) error {
	for i := range x.v.Indexes {
		f := &x.v.Indexes[i]
		if !x.stored(f.Index) {
			continue
		}
		x.scratch.Reset()
		arrays, err := f.Index.Keys(x.env, doc, &x.scratch, func(values, _ []byte) error {
			f.ledger.add(x.sum(values, h, id))
			return nil
		})
		if err != nil {
			return err
		}
		if !f.Index.Multikey.Covers(arrays) {
			f.Multikey++
		}
	}
	return nil
}

// sum returns the hash of an entry for the ledger.
func (x *checker) sum(values []byte, h keyspace.Hash, id []byte) uint64 {
	x.key = append(h.Append(append(x.key[:0], values...)), id...)
	return sum(x.key)
}

// lookFor looks up the index entries that a record should have, in indexes whose ledgers show a difference between
// records and entries. It records those that are missing.
func (x *checker) lookFor(doc bson.Raw, h keyspace.Hash, id []byte) error {
	d := x.coll.Map.Find(h, id)
	for i := range x.v.Indexes {
		f := &x.v.Indexes[i]
		if !x.stored(f.Index) || f.ledger.even() {
			continue
		}
		x.scratch.Reset()
		_, err := f.Index.Keys(x.env, doc, &x.scratch, func(values, _ []byte) error {
			if f.ledger.evenAt(x.sum(values, h, id)) {
				return nil
			}
			found, err := x.has(f.Index, d, values, h, id)
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

// has reports whether an index entry exists, in any index partition of the shard d, and belongs to the record, or
// cannot be read.
func (x *checker) has(ix *catalog.Index, d *shard.Descriptor, values []byte, h keyspace.Hash, id []byte) (bool, error) {
	for _, p := range d.Partitions {
		if ix.Unique {
			x.key = keyspace.AppendUnique(x.key[:0], x.coll.ID, ix.ID, p, values)
		} else {
			x.key = keyspace.AppendEntry(x.key[:0], x.coll.ID, ix.ID, p, values, h, id)
		}
		v, err := x.r.Get(x.ctx, x.key, nil)
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		if x.unread(err) {
			return true, nil // unknown
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

// finding describes one missing or superfluous entry.
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
			if text, is := v.Value.Str(); is && !utf8.ValidString(text) { // a sort key of a collation
				b.Binary(fields[i], 0, []byte(text))
			} else {
				b.Value(fields[i], v.Value)
			}
		}
	}
	b.End()
	return b.Doc()
}

// entries calls visit for all stored entries of an index; ok reports whether the entry is valid and in an index
// partition of its shard.
func (x *checker) entries(f *Index, visit func(f *Index, e foundEntry, ok bool) error) error {
	f.Keys, f.ExtraCount, f.Extra = 0, 0, nil
	return x.each(keyspace.IndexRange(x.coll.ID, f.Index.ID), func(key, value []byte) error {
		e, ok := x.split(f.Index, key, value)
		return visit(f, e, ok && x.inPlace(e))
	})
}

// settle removes an entry from the ledger.
func (x *checker) settle(f *Index, e foundEntry, ok bool) error {
	f.Keys++
	if ok {
		f.ledger.take(x.sum(e.values, e.hash, e.id))
	} else {
		f.ledger.markUneven(x.sum(e.values, e.hash, e.id))
	}
	return nil
}

// lookUp looks up the record of an index entry, if the entry's bucket of the ledger shows a difference. It counts the
// entry in Keys, or in ExtraCount if ok is false, or if the record does not exist or should not have the entry.
func (x *checker) lookUp(f *Index, e foundEntry, ok bool) error {
	if ok && !f.ledger.evenAt(x.sum(e.values, e.hash, e.id)) {
		var err error
		if ok, err = x.belongs(f.Index, e); err != nil {
			return err
		}
	}
	if ok {
		f.Keys++
		return nil
	}
	f.ExtraCount++
	if len(f.Extra) < findingsMax {
		f.Extra = append(f.Extra, finding(f.Index, bson.Value{}, e.id, e.values))
	}
	return nil
}

// foundEntry is a decoded index entry; its slices alias the iterator.
type foundEntry struct {
	partition  keyspace.PartitionID
	values, id []byte
	hash       keyspace.Hash
}

func (x *checker) split(ix *catalog.Index, key, value []byte) (e foundEntry, ok bool) {
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

// inPlace reports whether an index entry is stored in an index partition of the shard to which its record belongs.
func (x *checker) inPlace(e foundEntry) bool {
	return slices.Contains(x.coll.Map.Find(e.hash, e.id).Partitions, e.partition)
}

// belongs reports whether the record of an index entry exists and should have the entry; also if the record cannot
// be read.
func (x *checker) belongs(ix *catalog.Index, e foundEntry) (bool, error) {
	doc, err := x.r.Get(x.ctx, keyspace.AppendRecord(nil, x.coll.ID, e.hash, e.id), nil)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if x.unread(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	record, err := bson.Parse(doc, bson.Limits{Bytes: bson.MaxInternalBytes})
	if err != nil {
		return false, nil // the record itself is reported
	}
	x.scratch.Reset()
	found := false
	_, err = ix.Keys(x.env, record, &x.scratch, func(values, _ []byte) error {
		found = found || bytes.Equal(values, e.values)
		return nil
	})
	return found, err
}
