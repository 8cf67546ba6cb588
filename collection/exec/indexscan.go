package exec

import (
	"bytes"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// indexScan delivers the entries of an index within bounds, in one partition of one shard. During a split, a shard
// may have entries in several partitions; Build then merges one scan of each.
type indexScan struct {
	Counters
	node      *plan.IndexScan
	src       Source
	partition keyspace.PartitionID
	charge    bool // this scan pays for the visit of the shard

	dirs   []keystring.Dir
	ranges []keyspace.Bounds // not read yet, in scan order
	check  bool              // the ranges contain more than the bounds
	prefix []byte            // of all entries of the partition
	walk
	// current is the key range being read. unread is the rest of current when the scan was parked; if resume is
	// set, the scan reads unread before ranges.
	current, unread storage.Range
	resume          bool
	seek            []byte // key to continue at, set by the last entry
	seen            recordSet
	last            []byte   // Distinct: the last delivered value
	made            *fromKey // for Rebuild, Tested and WithKey
	bare            bool     // rows are only counted: see rowDropper
	// uniform reports that all entries in the ranges are rows of this scan, so that an entry that is only counted is
	// not decoded.
	uniform bool

	row    Row
	filter filter
	texts  *keyTexts // nil: the filter has no test on the bytes of a key
}

// fromKey builds documents from index keys, in buffers that are reused.
type fromKey struct {
	layout  []fieldPlacement // where Rebuild puts each field
	fields  int              // number of leading fields to decode
	unread  bson.Builder     // values that are decoded and not used
	waste   []byte           // memory of unread
	meta    metaBuilder
	builder bson.Builder
	decoder keystring.Decoder
	doc     []byte
	key     []byte
}

func newIndexScan(n *plan.IndexScan, src Source, p keyspace.PartitionID, charge bool) *indexScan {
	s := &indexScan{node: n, src: src, partition: p, charge: charge, dirs: n.Index.Dirs()}
	switch {
	case n.Key != nil:
		s.ranges = []keyspace.Bounds{n.Key.Bounds}
	case n.Skips:
		s.ranges, s.check = n.Bounds.Spans(), true
	default:
		var exact bool
		s.ranges, exact = n.Bounds.Ranges()
		s.check = !exact
	}
	if n.Reverse {
		slices.Reverse(s.ranges)
	}
	s.uniform = !s.check && !n.Dedupe && n.Distinct == 0 && n.Tested == nil && n.Filter == nil && src.Shard.IsAll()
	s.prefix = keyspace.AppendEntryPrefix(nil, src.Coll.ID, n.Index.ID, p)
	if n.Rebuild || n.WithKey || n.Tested != nil {
		s.made = &fromKey{}
	}
	if n.Rebuild || n.Tested != nil {
		s.made.layout, s.made.fields = layoutOf(n.KeyFields())
	}
	s.texts = keyTextsOf(n)
	return s
}

func (s *indexScan) Next(env *mql.Env) (*Row, error) {
	if err := s.visit(env); err != nil {
		return nil, err
	}
	for !s.Done {
		if s.it == nil {
			if err := s.open(env); err != nil {
				return nil, err
			}
			continue
		}
		if err := env.Tick(); err != nil {
			return nil, err
		}
		s.under(env)
		s.Works++
		if err := s.src.Trial.spend(1); err != nil {
			return nil, err
		}
		if !s.step() {
			if err := s.endRange(); err != nil {
				return nil, err
			}
			continue
		}
		if s.uniform && (s.node.Count || s.bare) {
			return s.countCurrent(env), nil
		}
		row, err := s.checkCurrent(env)
		if row != nil || err != nil {
			return row, err
		}
	}
	return nil, nil
}

// visit charges the visit of the shard, once. Errors: *ratelimit.CapReached.
func (s *indexScan) visit(env *mql.Env) error {
	if !s.charge {
		return nil
	}
	s.charge = false
	if err := env.Meter.CheckCapFor(ratelimit.ExtraSeek, int64(s.node.Seeks)-1); err != nil {
		return err
	}
	env.Meter.Visit(int(s.src.Shard.ID), max(1, s.node.Seeks))
	return env.Meter.CheckCap()
}

// endRange ends the current range, whose iterator has no more entries. Errors: errors of the iterator.
func (s *indexScan) endRange() error {
	if err := s.it.Err(); err != nil {
		return err
	}
	s.leave()
	return nil
}

func (s *indexScan) open(env *mql.Env) error {
	r := s.unread
	if s.resume {
		s.resume, s.unread = false, storage.Range{}
	} else {
		if len(s.ranges) == 0 {
			s.release()
			s.Done = true
			return nil
		}
		r = keyspace.EntryRange(s.src.Coll.ID, s.node.Index.ID, s.partition, s.ranges[0])
		s.ranges = s.ranges[1:]
		s.seek = s.seek[:0]
		if !r.Empty() {
			s.Seeks++
		}
	}
	if r.Empty() {
		return nil
	}
	s.current = r
	return s.begin(env, s.src.Reader, r, storage.IterOptions{Reverse: s.node.Reverse})
}

// step moves the iterator to the next index entry. If the last entry set seek, step jumps there, to the next
// key that may be within the bounds.
func (s *indexScan) step() bool {
	if len(s.seek) == 0 {
		return s.it.Next()
	}
	s.Seeks++
	ok := s.it.Seek(s.seek)
	s.seek = s.seek[:0]
	return ok
}

// countCurrent returns a row without a record for the index entry at the iterator, which is only counted.
func (s *indexScan) countCurrent(env *mql.Env) *Row {
	s.KeysExamined++
	s.Returned++
	if s.node.Count {
		env.Meter.Add(int(s.src.Shard.ID), ratelimit.CountEntry, 1)
	}
	s.row.Shard = int(s.src.Shard.ID) // no other field has been set: a scan counts from its first entry on
	return &s.row
}

// checkCurrent returns the row of the index entry at the iterator; nil if the entry is outside of the bounds,
// belongs to another shard, repeats a record or the value of a distinct scan, or fails the filter.
func (s *indexScan) checkCurrent(env *mql.Env) (*Row, error) {
	s.KeysExamined++
	key := s.it.Key()
	values, err := s.values(key[len(s.prefix):])
	if err != nil {
		return nil, err
	}
	if s.check {
		ok, next, err := s.node.Bounds.Contains(values, s.dirs, s.node.Reverse)
		if err != nil {
			return nil, err
		}
		if !ok {
			if next == nil {
				s.leave()
				return nil, nil
			}
			s.seek = append(append(s.seek[:0], s.prefix...), next...)
			return nil, nil
		}
	}
	h, id, bits, err := s.owner(key, len(values))
	if err != nil {
		return nil, err
	}
	if !s.src.Shard.Owns(h, id) {
		return nil, nil // entry of a sibling shard that shares the partition during a split
	}
	// Field by field, because the compiler would build a Row beside s.row and copy it.
	s.row.Doc, s.row.SortKey, s.row.Meta = nil, nil, nil
	s.row.Hash, s.row.ID, s.row.Values, s.row.Shard = h, id, values, int(s.src.Shard.ID)
	if s.node.Dedupe {
		fresh, err := s.seen.add(env, &s.row)
		if err != nil {
			return nil, err
		}
		if !fresh {
			s.Dropped++
			return nil, nil
		}
	}
	if s.node.Distinct > 0 && s.node.Filter == nil && s.sameValue(values) {
		return nil, nil
	}
	if s.node.Count {
		env.Meter.Add(int(s.src.Shard.ID), ratelimit.CountEntry, 1)
	}
	decided := false
	if s.texts != nil || s.node.Tested != nil {
		var ok bool
		if ok, decided, err = s.keeps(env, values, bits, h, id); !ok || err != nil {
			return nil, err
		}
	}
	if s.node.WithKey && !s.bare {
		if err := s.putKey(values, bits); err != nil {
			return nil, err
		}
	}
	if s.node.Rebuild && !s.bare {
		var null bool
		if s.row.Doc, null, err = s.rebuild(values, bits); err == nil && null {
			s.row.Doc, err = s.record(env, h, id)
		}
		if err != nil {
			return nil, err
		}
		if s.node.Filter != nil && !decided {
			if ok, err := s.filter.matches(env, s.node.Filter, s.row.Doc); !ok || err != nil {
				return nil, err
			}
		}
		if s.node.Filter != nil && s.node.Distinct > 0 && s.sameValue(values) { // the filter may differ between entries of one value
			return nil, nil
		}
	}
	s.Returned++
	return &s.row, nil
}

// values returns the encoded field values at the start of rest, the key of an index entry without its prefix.
func (s *indexScan) values(rest []byte) ([]byte, error) {
	at := 0
	for _, d := range s.dirs {
		n, err := keystring.Skip(rest[at:], d)
		if err != nil {
			return nil, err
		}
		at += n
	}
	return rest[:at], nil
}

// owner returns the record to which an index entry belongs, by hash and id, and the type bits of its values.
// Hash and id lie in the entry's key, for a unique index in its stored value. The bits lie in the value; those of a
// non-unique index are returned only for Rebuild, Tested and WithKey.
func (s *indexScan) owner(key []byte, valuesLen int) (h keyspace.Hash, id, bits []byte, err error) {
	var ok bool
	if s.node.Index.Unique {
		v := s.it.Value()
		h, id, bits, ok = keyspace.SplitUniqueValue(v, s.src.Coll.IDParts(), skipID)
	} else {
		h, id, ok = keyspace.SplitEntryAt(key, valuesLen)
		if ok && s.made != nil {
			bits = keyspace.EntryTypeBits(s.it.Value())
		}
	}
	if !ok {
		if err := s.it.Err(); err != nil {
			return 0, nil, nil, err
		}
		return 0, nil, nil, storage.ErrCorruption
	}
	return h, id, bits, nil
}

func skipID(b []byte) int {
	n, err := keystring.Skip(b, keystring.Ascending)
	if err != nil {
		return -1
	}
	return n
}

// sameValue reports whether the leading fields of a distinct scan repeat the values delivered last. If not, the
// next step jumps past their values. A key with a null may represent several values (null and missing), so it never
// counts as a repetition, and is not jumped past; nor does the key of an empty array, which is that of undefined.
func (s *indexScan) sameValue(values []byte) bool {
	n, null := 0, false
	for i, d := range s.dirs[:s.node.Distinct] {
		null = null || values[n] == keystring.NullByte(d) || s.isElement(i) && keystring.IsUndefined(values[n], d)
		m, err := keystring.Skip(values[n:], d)
		if err != nil {
			return true
		}
		n += m
	}
	if null {
		return false
	}
	first := values[:n]
	if s.last != nil && bytes.Equal(first, s.last) {
		return true
	}
	s.last = append(s.last[:0], first...)
	s.seek = append(append(s.seek[:0], s.prefix...), first...)
	if !s.node.Reverse { // backwards, the value's prefix is before all keys of the value already
		s.seek = keyspace.PrefixEnd(s.seek)
	}
	return false
}

// isElement reports whether field i holds elements of arrays that a distinct scan delivers.
func (s *indexScan) isElement(i int) bool { return s.node.Elements && i == s.node.Distinct-1 }

// putKey adds the index key to the row's metadata: a document of the fields by their full names, with
// null for a field that the document lacks.
func (s *indexScan) putKey(values, bits []byte) (err error) {
	m := s.made
	b := m.meta.begin(nil)
	b.BeginDoc("indexKey")
	m.decoder.Reset(bits)
	for i, f := range s.node.Index.Fields() {
		before := b.Len()
		if values, err = m.decoder.Value(b, f, values, s.dirs[i]); err != nil {
			return err
		}
		if b.Len() == before {
			b.Null(f)
		}
	}
	b.End()
	s.row.Meta = m.meta.end()
	return nil
}

// record reads the whole document of the current entry.
func (s *indexScan) record(env *mql.Env, h keyspace.Hash, id []byte) (bson.Raw, error) {
	m := s.made
	m.key = keyspace.AppendRecord(m.key[:0], s.src.Coll.ID, h, id)
	if err := s.src.Trial.spend(fetchCost); err != nil {
		return nil, err
	}
	v, err := s.src.Reader.Get(env.Context(), m.key, m.doc[:0])
	if err != nil {
		return nil, err
	}
	m.doc = v
	s.DocsExamined++
	env.Meter.Loaded(int(s.src.Shard.ID), len(v), 0)
	return bson.Raw(v), nil
}

// appendScanned appends to explain the counters of an index scan, or of the merge of the scans of its
// partitions.
func appendScanned(b *bson.Builder, n *plan.IndexScan, c *Counters) {
	b.Int("keysExamined", c.KeysExamined)
	b.Int("seeks", c.Seeks)
	if n.Dedupe {
		c.appendDropped(b, c.KeysExamined)
	}
	if c.DocsExamined > 0 { // records were read because a key does not distinguish null and missing
		b.Int("docsExamined", c.DocsExamined)
	}
}

func (s *indexScan) Explain(b *bson.Builder, stats bool) {
	explainNode(b, s.node, &s.Counters, stats)
	if stats {
		appendScanned(b, s.node, &s.Counters)
	}
}

func (s *indexScan) Close() {
	s.filter.close()
	s.Done = true
	s.release()
	s.seen.release()
}
