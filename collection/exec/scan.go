package exec

import (
	"bytes"
	"errors"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// pointRead delivers the record with a given position and _id, or nothing.
type pointRead struct {
	Counters
	node *plan.PointRead
	src  Source
	row  Row
	key  [64]byte // memory of the record's key
}

func (p *pointRead) Next(env *mql.Env) (*Row, error) {
	if p.Done {
		return nil, nil
	}
	p.Done = true
	p.Works, p.KeysExamined = 1, 1
	v, err := p.src.Reader.Get(env.Context(), keyspace.AppendRecord(p.key[:0], p.src.Coll.ID, p.node.Hash, p.node.ID), p.src.Memory.take())
	if errors.Is(err, storage.ErrNotFound) {
		env.Meter.PointRead(int(p.src.Shard.ID), 0)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p.src.Memory.give(v)
	p.DocsExamined = 1
	if p.node.Filter != nil {
		var s expr.Scratch
		defer s.Close()
		if ok, err := p.node.Filter.Matches(env, v, &s); !ok || err != nil {
			env.Meter.PointRead(int(p.src.Shard.ID), 0)
			return nil, err
		}
	}
	if err := env.Meter.CheckCapForSized(ratelimit.PointRead, len(v)); err != nil {
		return nil, err
	}
	env.Meter.PointRead(int(p.src.Shard.ID), len(v))
	p.Returned = 1
	p.row = Row{Doc: bson.Raw(v), Hash: p.node.Hash, ID: p.node.ID, Shard: int(p.src.Shard.ID)}
	return &p.row, nil
}

func (p *pointRead) Explain(b *bson.Builder, stats bool) {
	explainNode(b, p.node, &p.Counters, stats)
	if stats {
		p.appendExamined(b)
	}
}
func (p *pointRead) Close() { p.Done = true }

// recordScan reads records in key order, or all records of an unsharded collection in insertion order.
type recordScan struct {
	Counters
	node   *plan.RecordScan
	src    Source
	ranges []storage.Range // not read yet, in scan order
	// current is the range being read.
	current storage.Range
	// unread is the rest of current when the scan was parked; if resume is set, the scan reads unread
	// before ranges.
	unread storage.Range
	resume bool
	walk
	// onRecord reports that the iterator, after a jump, is on a record that step has not delivered yet.
	onRecord bool
	row      Row
	keys     *metaBuilder // index keys of the rows, if requested
	filter   filter
	charged  bool
	bare     bool  // rows are only counted: see rowDropper
	counted  int64 // rows that were counted and not read: see countRows
	// natural: all records are read in insertion order, and nothing has been read yet. inserted then reads them, unless
	// it is nil because their keys have the same order.
	natural  bool
	inserted *insertionOrder
}

func newRecordScan(n *plan.RecordScan, src Source) (s *recordScan) {
	if n.Filter == nil {
		s = &recordScan{}
	} else {
		x := &struct { // one allocation
			recordScan
			scratch expr.Scratch
		}{}
		s, x.filter.scratch = &x.recordScan, &x.scratch
	}
	s.node, s.src, s.ranges, s.charged = n, src, recordRanges(n, src), n.Sibling
	s.natural = n.ByID == nil && n.Bounds.Ranges == nil && n.Bounds.IDs == nil && !n.Count && src.Coll.KeepsInsertionOrder()
	return s
}

// recordRanges returns the ranges of record keys that a scan reads on one shard: the part of its bounds that
// the shard owns.
func recordRanges(n *plan.RecordScan, src Source) []storage.Range {
	id := src.Coll.ID
	lo, _ := src.Shard.Hashes()
	var out []storage.Range
	switch {
	case n.Bounds.Ranges == nil && n.Bounds.IDs == nil:
		all := src.Shard.Range
		if src.From > lo {
			all.Lo = shard.HashPosition(src.From)
		}
		out = []storage.Range{keyspace.RecordSpan(id, all.Lo, all.Hi)}
	case n.Bounds.Ranges == nil: // unsharded: one position
		for _, ids := range n.Bounds.IDs {
			out = append(out, keyspace.RecordIDRange(id, lo, ids))
		}
	default:
		for _, r := range n.Bounds.Ranges {
			if r.Overlaps(src.Shard.Range) {
				r = r.Intersect(src.Shard.Range)
				out = append(out, keyspace.RecordSpan(id, r.Lo, r.Hi))
			}
		}
	}
	if n.Reverse {
		slices.Reverse(out)
	}
	return out
}

func (s *recordScan) Next(env *mql.Env) (*Row, error) {
	if err := s.visit(env); err != nil {
		return nil, err
	}
	for !s.Done {
		if s.inserted != nil {
			return s.nextInserted(env)
		}
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
		found, ended := s.step()
		if ended {
			if err := s.it.Err(); err != nil {
				return nil, err
			}
			s.it.Close()
			s.it = nil
		}
		if !found {
			continue
		}
		row, err := s.filterCurrent(env)
		if row != nil || err != nil {
			return row, err
		}
	}
	return nil, nil
}

// visit charges the visit of the shard, once. Errors: *ratelimit.CapReached.
func (s *recordScan) visit(env *mql.Env) error {
	if s.charged {
		return nil
	}
	s.charged = true
	seeks := s.node.Seeks
	if s.node.Bounds.Ranges != nil {
		seeks = len(s.ranges) // the other ranges belong to other shards
	}
	if err := env.Meter.CheckCapFor(ratelimit.ExtraSeek, int64(seeks)-1); err != nil {
		return err
	}
	env.Meter.Visit(int(s.src.Shard.ID), max(1, seeks))
	env.Meter.Add(int(s.src.Shard.ID), ratelimit.Predicate, int64(s.node.Predicates))
	return env.Meter.CheckCap()
}

// nextInserted is Next of a scan in insertion order.
func (s *recordScan) nextInserted(env *mql.Env) (*Row, error) {
	for {
		if err := env.Tick(); err != nil {
			return nil, err
		}
		if ready, err := s.inserted.advance(env); err != nil {
			return nil, err
		} else if !ready {
			continue
		}
		s.Works++
		if err := s.src.Trial.spend(1); err != nil {
			return nil, err
		}
		if s.inserted.ended() {
			s.inserted.close()
			s.inserted, s.Done = nil, true
			return nil, nil
		}
		id, doc, err := s.inserted.take(s.bare)
		if err != nil {
			return nil, err
		}
		row, err := s.filterRecord(env, s.inserted.hash, id, doc)
		if row != nil || err != nil {
			return row, err
		}
	}
}

// step moves to the next record. In a forward scan of several ranges of positions, one iterator reads them all
// and jumps from each to the next. found is false after a jump, and at the end; ended reports that no records are
// left in the ranges.
func (s *recordScan) step() (found, ended bool) {
	if !s.onRecord && !s.it.Next() {
		if s.hops() {
			s.ranges = nil // the iterator covered the last range too
		}
		return false, true
	}
	s.onRecord = false
	if len(s.ranges) == 0 || !s.hops() || bytes.Compare(s.it.Key(), s.current.End) < 0 {
		return true, false
	}
	for key := s.it.Key(); len(s.ranges) > 0 && bytes.Compare(s.ranges[0].End, key) <= 0; {
		s.ranges = s.ranges[1:]
	}
	if len(s.ranges) == 0 {
		return false, true
	}
	s.current, s.ranges = s.ranges[0], s.ranges[1:]
	if s.onRecord = s.it.Seek(s.current.Start); !s.onRecord {
		s.ranges = nil
	}
	return false, !s.onRecord
}

// hops reports whether one iterator reads all ranges of the scan and jumps between them, instead of one
// iterator per range.
func (s *recordScan) hops() bool { return s.node.Bounds.Ranges != nil && !s.node.Reverse }

// openPlaces opens the scan in insertion order, unless that was done. It reports whether the order differs from that of
// the keys.
func (s *recordScan) openPlaces(env *mql.Env) (placed bool, err error) {
	if s.natural {
		if s.inserted, err = openInsertionOrder(env, s.src, s.node.Reverse); err != nil {
			return false, err
		}
		if s.natural = false; s.inserted != nil {
			s.ranges = nil
		}
	}
	return s.inserted != nil, nil
}

func (s *recordScan) open(env *mql.Env) error {
	if placed, err := s.openPlaces(env); placed || err != nil {
		return err
	}
	r := s.unread
	if !s.resume {
		if len(s.ranges) == 0 {
			s.Done = true
			return nil
		}
		r = s.ranges[0]
		s.ranges = s.ranges[1:]
	}
	s.resume, s.unread = false, storage.Range{}
	if r.Empty() {
		return nil
	}
	s.current = r
	if n := len(s.ranges); n > 0 && s.hops() {
		r.End = s.ranges[n-1].End
	}
	return s.begin(env, s.src.Reader, r, storage.IterOptions{Reverse: s.node.Reverse, KeysOnly: s.node.Count})
}

// filterCurrent applies the filter to the current record.
func (s *recordScan) filterCurrent(env *mql.Env) (*Row, error) {
	if s.bare {
		return s.filterRecord(env, 0, nil, nil)
	}
	var doc bson.Raw
	if !s.node.Count {
		if doc = bson.Raw(s.it.Value()); doc == nil {
			return nil, s.it.Err()
		}
	}
	_, h, id, ok := keyspace.SplitRecord(s.it.Key())
	if !ok {
		return nil, storage.ErrCorruption
	}
	return s.filterRecord(env, h, id, doc)
}

// filterRecord applies the filter to a record.
func (s *recordScan) filterRecord(env *mql.Env, h keyspace.Hash, id []byte, doc bson.Raw) (*Row, error) {
	switch {
	case s.bare:
		s.KeysExamined++
		s.Returned++
		s.row = Row{Shard: int(s.src.Shard.ID)}
		return &s.row, nil
	case s.node.Count:
		s.KeysExamined++
		env.Meter.Add(int(s.src.Shard.ID), ratelimit.CountEntry, 1)
	default:
		if err := env.Row(len(doc)); err != nil {
			return nil, err
		}
		s.DocsExamined++
		env.Meter.Loaded(int(s.src.Shard.ID), len(doc), s.node.Predicates)
	}
	if s.node.Filter != nil {
		if s.node.Computed {
			env.Meter.Add(int(s.src.Shard.ID), ratelimit.ComputedTest, 1)
		}
		ok, err := s.filter.matches(env, s.node.Filter, doc)
		if !ok || err != nil {
			return nil, err
		}
	}
	s.Returned++
	s.row = Row{Doc: doc, Hash: h, ID: id, Shard: int(s.src.Shard.ID)}
	if s.node.ByID != nil && s.node.ByID.WithKey {
		if s.keys == nil {
			s.keys = new(metaBuilder)
		}
		b := s.keys.begin(nil)
		b.BeginDoc("indexKey")
		b.Value("_id", doc.Get("_id"))
		b.End()
		s.row.Meta = s.keys.end()
	}
	return &s.row, nil
}

func (s *recordScan) Explain(b *bson.Builder, stats bool) {
	explainNode(b, s.node, &s.Counters, stats)
	if stats && s.node.Count {
		b.Int("keysExamined", s.KeysExamined)
	} else if stats {
		b.Int("docsExamined", s.DocsExamined)
	}
	if stats && s.counted > 0 {
		b.Int("nCounted", s.counted)
	}
	if s.node.ByID != nil && !s.node.Count {
		b.BeginDoc("inputStage")
		explainNode(b, s.node.ByID, &s.Counters, stats)
		if stats {
			b.Int("keysExamined", s.DocsExamined+s.KeysExamined)
			b.Int32("seeks", int32(s.node.Seeks))
		}
		b.End()
	}
}

func (s *recordScan) Close() {
	s.filter.close()
	s.Done = true
	if s.inserted != nil {
		s.inserted.close()
		s.inserted = nil
	}
	if s.it != nil {
		s.it.Close()
		s.it = nil
	}
}
