package cluster

import (
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/router"
	"github.com/cantledb/cantle/storage"
)

// choose picks the plan (solution) of a query: the first candidate if it is the only one or certain (Solution.Certain);
// else the plan that the cache has for the query's shape, except for an explain; else the winner of a trial, which it
// runs now. Unless the read runs only to be explained, it counts the uses of the plan's indexes. v may be nil for a
// write, which has no snapshot yet.
func (c *Cluster) choose(o *Op, v *view, q *plan.Query) (*plan.Solution, error) {
	s, err := c.chooseUncounted(o, v, q)
	if err != nil {
		return nil, err
	}
	c.chosen(o, q, s)
	return s, nil
}

// chosen counts the uses of the indexes of a plan that will run, and shows the plan in the operation.
func (c *Cluster) chosen(o *Op, q *plan.Query, s *plan.Solution) {
	if !o.explained() {
		c.Uses.Count(q.Coll, s.Shards)
	}
	if o.Planned != nil {
		o.Planned.Store(s)
	}
}

// chooseUncounted is choose, without counting the uses of indexes.
func (c *Cluster) chooseUncounted(o *Op, v *view, q *plan.Query) (*plan.Solution, error) {
	if err := checkSort(o.Env, q); err != nil {
		return nil, err
	}
	q, sols, err := c.candidates(o, q)
	if err != nil {
		return nil, err
	}
	if len(sols) == 1 || sols[0].Certain {
		return pick(sols, 0), nil
	}
	if !o.explained() {
		if s := c.Plans.Choose(q, sols); s != nil {
			s.Cached = true
			s.Replan = c.replan(o, v, q, sols)
			return s, nil
		}
	}
	return c.runTrial(o.Env, o, v, q, sols)
}

// candidates returns the candidate plans of a query that index filters and query settings permit, and the query with
// these restrictions.
func (c *Cluster) candidates(o *Op, q *plan.Query) (*plan.Query, []*plan.Solution, error) {
	q = c.Plans.Restrict(q)
	filtered := q.Only != nil
	if allowed, some := q.Allow(o.Allowed); some {
		q, filtered = allowed, false
	}
	sols, err := q.Candidates(o.Env)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range sols {
		s.Filtered = filtered
	}
	return q, sols, nil
}

// replan returns a function that chooses the plan of a query anew, by a trial, because the cached plan does worse
// than expected. The shards, which run concurrently, share one trial and its result.
func (c *Cluster) replan(o *Op, v *view, q *plan.Query, sols []*plan.Solution) func(env *mql.Env) (*plan.Solution, error) {
	var once sync.Once
	var s *plan.Solution
	var err error
	return func(env *mql.Env) (*plan.Solution, error) {
		once.Do(func() {
			c.Plans.Disappointed(q)
			s, err = c.runTrial(env, o, v, q, sols)
		})
		return s, err
	}
}

// pick returns one solution, with the others as its Rejected.
func pick(sols []*plan.Solution, n int) *plan.Solution {
	s := sols[n]
	for i, other := range sols {
		if i != n {
			s.Rejected = append(s.Rejected, other)
		}
	}
	return s
}

// runTrial runs the candidate plans of a query for a short while on the first shard that can have matches, and
// returns the best one; without such a shard, the first one. Unless the read runs only to be explained, the plan
// cache stores the winner.
func (c *Cluster) runTrial(env *mql.Env, o *Op, v *view, q *plan.Query, sols []*plan.Solution) (*plan.Solution, error) {
	shards := router.Targets(q.Coll, q.Match, env.Collation == nil)
	if len(shards) == 0 {
		return pick(sols, 0), nil
	}
	var r storage.Reader
	switch {
	case v != nil:
		r = v.reader
	case o.Txn != nil:
		r = o.Txn.Store
	default:
		own, err := c.store.Snapshot(env.Context(), 0)
		if err != nil {
			return nil, err
		}
		defer own.Close()
		r = own
	}
	tried, winner, err := exec.Trial(env, sols, exec.Source{Coll: q.Coll, Shard: shards[0], Reader: r})
	if err != nil {
		return nil, err
	}
	for _, t := range tried {
		t.Solution.Tried = t.Stats
		t.Solution.Score = t.Score
	}
	s := pick(sols, winner)
	e := plan.Entry{Winner: s.Name(), Works: tried[winner].Works, Created: env.NowMillis, Scores: []float64{s.Score}, Stats: []bson.Raw{s.Tried}}
	b := bson.NewBuilder(nil)
	plan.Append(b, s.Shards)
	e.Plan = b.Doc()
	for _, other := range s.Rejected {
		e.Scores = append(e.Scores, other.Score)
		e.Stats = append(e.Stats, other.Tried)
	}
	if !o.explained() { // an explain does not change the plan cache
		c.Plans.RecordTrial(q, e)
	}
	return s, nil
}

// PlanCache lists the plan cache entries of a collection, as
// $planCacheStats prints them; the caller adds the host.
func (c *Cluster) PlanCache(coll *catalog.Collection) []bson.Raw {
	var out []bson.Raw
	for _, e := range c.Plans.Entries(coll) {
		b := bson.NewBuilder(nil)
		e.Append(b)
		out = append(out, b.Doc())
	}
	return out
}
