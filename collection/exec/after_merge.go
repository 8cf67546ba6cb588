package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
)

// ShardPart is the operator of one shard in a plan whose skip drops the merged rows of all shards (plan.Solution.AfterMerge).
// It counts what the operators above the merge do with the shard's rows, so that explain shows one tree for each
// shard.
type ShardPart struct {
	in        Operator
	solution  *plan.Solution
	shard     int
	delivered int64 // rows to the merge
	kept      int64 // rows that were not skipped
	docs      int64 // documents fetched
	returned  int64 // rows that the merged part returned
}

// NewShardPart returns the operator of one shard for AfterMerge, which counts in it.
func NewShardPart(s *plan.Solution, shard int, in Operator) *ShardPart {
	return &ShardPart{in: in, solution: s, shard: shard}
}

// Next implements Operator.
func (p *ShardPart) Next(env *mql.Env) (*Row, error) {
	r, err := p.in.Next(env)
	if r != nil {
		p.delivered++
	}
	return r, err
}

// Explain implements Operator. It prints the nodes above the merge with the counters of the shard's rows.
func (p *ShardPart) Explain(b *bson.Builder, stats bool) {
	above, skip := p.solution.AfterMerge()
	fetches := false
	for _, n := range above {
		c := Counters{Returned: p.returned, Works: p.kept}
		explainNode(b, n, &c, stats)
		if _, ok := n.(*plan.Fetch); ok {
			fetches = true
			if stats {
				p.appendFetched(b)
			}
		}
		b.BeginDoc("inputStage")
	}
	if p.docs > 0 && !fetches { // a shard has replaced its plan
		explainNode(b, &plan.Fetch{}, &Counters{Returned: p.returned, Works: p.kept}, stats)
		if stats {
			p.appendFetched(b)
		}
		b.BeginDoc("inputStage")
		defer b.End()
	}
	explainStage(b, skip, &Counters{Returned: p.kept, Works: p.delivered}, stats, p.in)
	for range above {
		b.End()
	}
}

func (p *ShardPart) appendFetched(b *bson.Builder) {
	b.Int("docsExamined", p.docs)
	b.Int32("alreadyHasObj", 0)
}

// Park implements Operator.
func (p *ShardPart) Park() (int, bool) { return p.in.Park() }

// Close implements Operator.
func (p *ShardPart) Close() { p.in.Close() }

// AfterMerge returns the operators of a plan that run on the merged rows of all shards (in): the skip, the fetch of the
// other rows, the projection and the limit. parts are the operators of the shards below in. src holds the collection
// and the reader.
func AfterMerge(s *plan.Solution, src Source, in Operator, parts []*ShardPart) Operator {
	above, node := s.AfterMerge()
	byShard := make(map[int]*ShardPart, len(parts))
	for _, p := range parts {
		byShard[p.shard] = p
	}
	count := func(shard int, add func(p *ShardPart)) {
		if p := byShard[shard]; p != nil {
			add(p)
		}
	}
	var op Operator = &skip{node: node, in: in, left: node.N}
	op = &counted{in: op, count: func(r *Row) { count(r.Shard, func(p *ShardPart) { p.kept++ }) }}
	fetches := s.Replan != nil
	for _, n := range above {
		_, ok := n.(*plan.Fetch)
		fetches = fetches || ok
	}
	if fetches {
		src.Shard = src.Coll.Map.Shards()[0]
		op = &fetch{node: &plan.Fetch{Batch: true, Rows: s.Limit}, src: src, in: op,
			met: func(shard int) { count(shard, func(p *ShardPart) { p.docs++ }) }}
	}
	for i := len(above) - 1; i >= 0; i-- {
		switch n := above[i].(type) {
		case *plan.Fetch, *plan.Limit:
		default:
			if op = present(n, op); op == nil {
				mongoerr.Bug("no operator for %s after a merge", n.Stage())
			}
		}
	}
	if s.Limit > 0 {
		op = Limit(op, s.Limit)
	}
	return &counted{in: op, count: func(r *Row) { count(r.Shard, func(p *ShardPart) { p.returned++ }) }}
}

// counted calls a function for each row.
type counted struct {
	in    Operator
	count func(r *Row)
}

func (c *counted) Next(env *mql.Env) (*Row, error) {
	r, err := c.in.Next(env)
	if r != nil {
		c.count(r)
	}
	return r, err
}

func (c *counted) Explain(b *bson.Builder, stats bool) { c.in.Explain(b, stats) }
func (c *counted) Park() (int, bool)                   { return c.in.Park() }
func (c *counted) Close()                              { c.in.Close() }
