package cluster

import (
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
)

// Estimate is the expected cost of a command, before it runs.
type Estimate struct {
	// Receipt is itemised by shard.
	Receipt ratelimit.Receipt
	// Rows is the expected number of documents that the shards deliver or change.
	Rows int64
	// AtLeast is true if the end of the read could not be estimated, so that the cost may be higher.
	AtLeast bool
}

// Bounds of an estimate: the number of shards on which the plan is tried, and, for these shards together, the number
// of rows and the work, in documents loaded and index entries counted.
const (
	estimateShards = 16
	estimateRows   = 200
	estimateWork   = 5000
)

// Estimate runs the plan of a read on at most estimateShards shards for a short while, and scales the measured cost
// to the whole read. For a write, m holds the changes of the rows, which are tried in a transaction that does not
// commit; for a read it is nil. No budget is charged. The estimate is zero if no shard of a
// stored collection is read.
func (s *Stream) Estimate(env *mql.Env, m *Modify) (e Estimate, err error) {
	if s.Coll == nil || s.Solution == nil || len(s.Shards) == 0 || s.v == nil {
		return e, nil
	}
	lane := env.Slot
	env = env.Fork(env.Context())
	env.Slot = lane
	env.Memory = env.Memory.Sibling(mql.StageBytesMax)
	defer env.Memory.Release()
	var t *trial
	if m != nil {
		if t, err = s.try(env, m); err != nil {
			return e, err
		}
		defer t.txn.Close()
	}
	var all ratelimit.Meter
	s.meterFor(&all)
	looked := s.Shards[:min(len(s.Shards), estimateShards)]
	left := int64(0) // rows that the read takes, 0 for all
	if s.Solution.Limit > 0 {
		left = s.Solution.Skip + s.Solution.Limit
	}
	for i, d := range looked {
		var part ratelimit.Meter
		s.meterFor(&part)
		rows, atLeast, err := s.estimateOn(env, d, &part, t, len(looked), left)
		if err != nil {
			return e, err
		}
		e.AtLeast = e.AtLeast || atLeast
		for j := i; j < len(s.Shards); j += len(looked) { // shards that are not tried are assumed to be like this one
			e.Rows += rows
			for _, line := range part.Receipt().Lines {
				for _, x := range line.Items {
					all.Add(int(s.Shards[j].ID), x.Item, x.Quantity)
				}
			}
		}
		if s.Solution.Limit > 0 && !s.Solution.Sorted {
			if left -= rows; left <= 0 {
				break
			}
		}
	}
	if s.Solution.Limit > 0 {
		e.Rows = min(e.Rows, s.Solution.Limit)
	}
	if t != nil && e.Rows == 0 && m.Upsert {
		if err := t.upsert(env, &all); err != nil {
			return e, err
		}
	}
	if t != nil && s.Solution.Point {
		all.WaiveLocate()
	}
	e.Receipt = all.Receipt()
	return e, nil
}

func (s *Stream) meterFor(m *ratelimit.Meter) {
	m.Reset(uint64(s.Coll.ID), s.c.Budgets.Prices)
	m.SetStrong(s.op.Strong)
}

// estimateOn runs the plan on one of n shards until a bound is reached, scales the charges to the whole shard, and
// adds them to the meter to. t tries the changes of a write; left is the rest of skip and limit, 0 for none. rows is
// the scaled number of rows; atLeast is true if the scale is not known.
func (s *Stream) estimateOn(env *mql.Env, d *shard.Descriptor, to *ratelimit.Meter, t *trial, n int, left int64) (rows int64, atLeast bool, err error) {
	if n, ok := s.Solution.Shards.(*plan.FastCount); ok {
		rows = s.c.tally.Of(s.Coll.ID).Shard(d.ID).Get().Docs
		n.Charge(to, int(d.ID), rows)
		return rows, false, nil
	}
	var m ratelimit.Meter
	s.meterFor(&m)
	env.Meter = &m
	src := s.c.source(s.op, s.v, s.Coll, nil)
	src.Shard = d
	op, err := exec.Build(s.Solution.Shards, src)
	if err != nil {
		return 0, false, err
	}
	if !s.internal {
		op = exec.CountReturned(op)
	}
	defer op.Close()
	ended := false
	no := int(d.ID)
	rowsMax, workMax := max(estimateRows/int64(n), 1), max(estimateWork/int64(n), 1)
	work := func(i ratelimit.Item) int64 { return m.Quantity(no, i) }
	for (rows < rowsMax || work(ratelimit.CountEntry) > 0) && work(ratelimit.DocLoaded)+work(ratelimit.CountEntry) < workMax {
		row, err := op.Next(env)
		if err != nil {
			return 0, false, err
		}
		if row == nil {
			ended = true
			break
		}
		rows++
		if t != nil {
			if err := t.change(env, d, row); err != nil {
				return 0, false, err
			}
		}
		if left > 0 && rows >= left {
			ended = true
			break
		}
	}
	// If a full scan stops early, the count of the shard's documents gives the scale. The end of any other unfinished
	// plan is not known.
	times, of := int64(1), int64(1)
	if !ended {
		seen, docs := work(ratelimit.DocLoaded), s.c.tally.Of(s.Coll.ID).Shard(d.ID).Get().Docs
		if scansAll(s.Solution.Shards) && seen > 0 && docs >= seen {
			times, of = docs, seen
		} else {
			atLeast = true
		}
	}
	for _, line := range m.Receipt().Lines {
		for _, i := range line.Items {
			n := i.Quantity
			if !i.Item.Once() {
				n = n * times / of
			}
			to.Add(no, i.Item, n)
		}
	}
	return rows * times / of, atLeast, nil
}

// scansAll reports whether a plan reads every document of a shard.
func scansAll(n plan.Node) bool {
	if x, ok := n.(*plan.RecordScan); ok {
		return x.ByID == nil && x.Bounds.Ranges == nil
	}
	for _, in := range n.Inputs() {
		if scansAll(in) {
			return true
		}
	}
	return false
}
