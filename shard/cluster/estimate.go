package cluster

import (
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
)

// Estimate is what a read is expected to cost, before it runs.
type Estimate struct {
	// Receipt is itemised by shard.
	Receipt ratelimit.Receipt
	// Rows is how many documents the shards are expected to deliver.
	Rows int64
	// AtLeast says that there was no telling where the end is: it may be more.
	AtLeast bool
}

// estimateRows and estimateWork bound what an estimate looks at on one shard.
const (
	estimateRows = 200
	estimateWork = 5000
)

// Estimate tries the plan of a read on one of its shards, for a little while, and
// scales what that would have cost to all of them. Nobody is charged.
func (s *Stream) Estimate(env *mql.Env) (e Estimate, err error) {
	if s.Coll == nil || s.Solution == nil || len(s.Shards) == 0 || s.v == nil {
		return e, nil
	}
	turn := env.Turn
	env = env.Fork(env.Context())
	env.Turn = turn
	var m ratelimit.Meter
	m.Reset(uint64(s.Coll.ID), nil)
	m.SetStrong(s.op.Strong)
	env.Meter, env.Memory = &m, mql.NewMemory(mql.StageBytesMax)
	d := s.Shards[0]
	op, err := exec.Build(s.Solution.Shards, exec.Source{Coll: s.Coll, Shard: d, Reader: s.v.reader})
	if err != nil {
		return e, err
	}
	if !s.op.Inside {
		op = exec.CountReturned(op)
	}
	defer op.Close()
	ended := false
	no := int(d.ID)
	for e.Rows < estimateRows && m.Quantity(no, ratelimit.DocLoaded)+m.Quantity(no, ratelimit.CountEntry) < estimateWork {
		row, err := op.Next(env)
		if err != nil {
			return e, err
		}
		if row == nil {
			ended = true
			break
		}
		e.Rows++
		if most := s.Solution.Skip + s.Solution.Limit; s.Solution.Limit > 0 && e.Rows >= most {
			ended = true
			break
		}
	}
	// A scan says how far it came; what else goes on has no known end.
	times, of := int64(1), int64(1)
	if seen := m.Quantity(no, ratelimit.DocLoaded); !ended && seen > 0 {
		if docs := s.c.Tally.Of(s.Coll.ID).Shard(d.ID).Get().Docs; scansAll(s.Solution.Shards) && docs > seen {
			times, of = docs, seen
		} else {
			e.AtLeast = true
		}
	}
	var all ratelimit.Meter
	all.Reset(uint64(s.Coll.ID), nil)
	all.SetStrong(s.op.Strong)
	for _, x := range s.Shards {
		for _, line := range m.Receipt().Lines {
			for _, i := range line.Items {
				n := i.Quantity
				if i.Item != ratelimit.PartitionVisit && i.Item != ratelimit.ExtraSeek && i.Item != ratelimit.PointRead {
					n = n * times / of
				}
				all.Add(int(x.ID), i.Item, n)
			}
		}
	}
	e.Rows = e.Rows * times / of * int64(len(s.Shards))
	e.Receipt = all.Receipt()
	return e, nil
}

// scansAll reports a plan that reads every document of a shard.
func scansAll(n plan.Node) bool {
	if x, ok := n.(*plan.RecordScan); ok {
		return x.ByID == nil
	}
	for _, in := range n.Inputs() {
		if scansAll(in) {
			return true
		}
	}
	return false
}
