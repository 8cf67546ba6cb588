package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/router"
)

// Stream is an open read: it delivers rows, and holds the plan and the shards that they come from. The caller closes
// it.
type Stream struct {
	exec.Operator
	Coll           *catalog.Collection  // nil when the namespace does not exist
	Solution       *plan.Solution       // of the collection read, nil for an empty one
	query          *plan.Query          // of Solution, nil for a read by key
	Shards         []*shard.Descriptor  // that were targeted
	Pipeline       *agg.Pipeline        // of an aggregate
	Changes        *changestream.Stream // below a $changeStream pipeline, else nil
	oplog          *oplogOp             // below a pipeline on the change log, else nil
	c              *Cluster
	op             *Op
	v              *view
	internal       bool // the rows are not returned to the client: see FindInside
	after          func()
	delayedRefusal *ratelimit.Throttled // a refusal of a change stream's first page, injected by a test
}

// Close releases operators and snapshot, and charges what is not yet charged.
func (s *Stream) Close() {
	if s.v == nil {
		return
	}
	s.Operator.Close()
	s.v.close()
	s.v = nil
	s.Settle()
	if s.after != nil {
		s.after()
	}
}

// Park releases what the stream can get again, until the next request for rows; see exec.Operator.
// bytes is approximately what the stream still holds beside the memory budget of the command; done
// is false if the stream was in use.
func (s *Stream) Park() (bytes int64, done bool) {
	if s.v == nil {
		return 0, true
	}
	n, done := s.Operator.Park()
	return int64(n), done
}

// Settle charges what was read since the last call.
func (s *Stream) Settle() { s.c.settle(s.op) }

// Find opens a find. The caller closes the stream.
func (c *Cluster) Find(o *Op, ns collection.Namespace, f plan.Find) (*Stream, error) {
	return c.openFind(o, ns, f, false)
}

// FindInside is Find for rows that are counted or changed instead of returned:
// their bytes are not charged as returned.
func (c *Cluster) FindInside(o *Op, ns collection.Namespace, f plan.Find) (*Stream, error) {
	return c.openFind(o, ns, f, true)
}

// openFind is Find, or FindInside if inside is true.
func (c *Cluster) openFind(o *Op, ns collection.Namespace, f plan.Find, inside bool) (s *Stream, err error) {
	v, err := c.view(o, ns)
	if err != nil {
		return nil, err
	}
	defer func() {
		if s == nil { // an error, or a panic
			v.close()
		}
	}()
	return c.open(o, v, v.snap.Collection(ns), f, inside)
}

// open plans a find on a collection, nil for a missing one, and opens it at the read view v. The returned stream owns v
// and closes it; after an error the caller does. inside: see FindInside.
func (c *Cluster) open(o *Op, v *view, coll *catalog.Collection, f plan.Find, inside bool) (*Stream, error) {
	if coll == nil {
		// A missing collection reads as empty, but bad arguments are errors.
		if _, err := plan.Canonical(o.Env, &catalog.Collection{}, f); err != nil {
			return nil, err
		}
		return &Stream{Operator: exec.Concat(nil), c: c, op: o, v: v, internal: inside}, nil
	}
	if coll.IsView() {
		return nil, mongoerr.ViewNotAllowed(coll.Namespace.String())
	}
	useCollation(o.Env, coll)
	if n, ok := plan.Express(o.Env, coll, &f); ok && f.Projection.IsEmpty() {
		return c.openExpress(o, v, coll, n, inside)
	}
	q, err := plan.Canonical(o.Env, coll, f)
	if err != nil {
		return nil, err
	}
	return c.openQuery(o, v, q, inside)
}

// openExpress opens a read of one record by its key.
func (c *Cluster) openExpress(o *Op, v *view, coll *catalog.Collection, n *plan.PointRead, inside bool) (*Stream, error) {
	d := coll.Map.Find(n.Hash, n.ID)
	s := &express{shards: [1]*shard.Descriptor{d}, solution: plan.Solution{Shards: n, Point: true, Index: "_id_"}}
	shards := s.shards[:]
	c.begin(o, coll)
	o.touchKey(coll, d, n.ID)
	o.reach.id = n.ID
	c.Uses.Count(coll, n)
	if err := c.admit(o, coll, shards, ratelimit.ReadKind); err != nil {
		return nil, err
	}
	op, err := exec.Build(n, exec.Source{Coll: coll, Shard: d, Reader: v.reader, Memory: o.Row})
	if err != nil {
		return nil, err
	}
	o.Trace.add(d, op)
	s.Stream = Stream{Operator: op, Coll: coll, Solution: &s.solution, Shards: shards, c: c, op: o, v: v, internal: inside}
	return &s.Stream, nil
}

// express holds the stream of a read by key together with its plan and its shard, in one allocation.
type express struct {
	Stream
	solution plan.Solution
	shards   [1]*shard.Descriptor
}

// UseDefaultCollation sets the command's collation to the default of the collection called ns,
// unless the command has one. It is for callers that parse an update before the statement runs,
// because operators keep the order of strings with which they were parsed.
func (c *Cluster) UseDefaultCollation(o *Op, ns collection.Namespace) {
	if coll := c.latest(o).Collection(ns); coll != nil {
		useCollation(o.Env, coll)
	}
}

// ParseFilter parses a filter as a statement on the collection called ns does: with its default collation, see
// UseDefaultCollation, and with its text index.
// Errors: the errors of match.Parse.
func (c *Cluster) ParseFilter(o *Op, ns collection.Namespace, filter bson.Raw) (match.Node, error) {
	c.UseDefaultCollation(o, ns)
	n, err := match.Parse(o.Env, filter)
	if coll := c.latest(o).Collection(ns); coll != nil && err == nil {
		n = plan.BindText(coll, n)
	}
	return n, err
}

// useCollation sets the command's collation to the collection's default, unless
// the command has one.
func useCollation(env *mql.Env, coll *catalog.Collection) {
	if env.Collation == nil && !env.SimpleCollation {
		env.Collation = coll.Options.Collation
	}
}

// useViewCollation sets the command's collation to the view's default, which is simple unless the
// view was created with a collation. Manual: core/views#collation-behavior.
// Errors: OptionNotSupportedOnView (167) if the command has another.
func useViewCollation(env *mql.Env, view *catalog.Collection) error {
	own := view.Options.Collation
	switch {
	case env.Collation != nil && !env.Collation.Equal(own), env.SimpleCollation && own != nil:
		return mongoerr.New(mongoerr.OptionNotSupportedOnView, "Cannot override a view's default collation %s", view.Namespace)
	}
	env.Collation, env.SimpleCollation = own, own == nil
	return nil
}

func (c *Cluster) openQuery(o *Op, v *view, q *plan.Query, inside bool) (*Stream, error) {
	sol, err := c.choose(o, v, q)
	if err != nil {
		return nil, err
	}
	shards := router.Targets(q.Coll, q.Match, o.Env.Collation == nil)
	c.begin(o, q.Coll)
	o.touchQuery(q, shards)
	o.reach.filter = q.Match
	if err := c.admit(o, q.Coll, shards, ratelimit.ReadKind); err != nil {
		return nil, err
	}
	op, err := c.scatter(o, v, q.Coll, sol, shards, inside)
	if err != nil {
		return nil, err
	}
	return &Stream{Operator: op, Coll: q.Coll, Solution: sol, query: q, Shards: shards, c: c, op: o, v: v, internal: inside}, nil
}

// scatter opens a solution on every shard and combines the rows.
func (c *Cluster) scatter(o *Op, v *view, coll *catalog.Collection, sol *plan.Solution, shards []*shard.Descriptor, inside bool) (exec.Operator, error) {
	counts, err := c.skipCounts(o, v, coll, sol, shards)
	if err != nil {
		return nil, err
	}
	src := c.source(o, v, coll, counts)
	if _, skip := sol.AfterMerge(); skip != nil {
		op, err := c.skipMerged(o, o.Trace, sol, src, shards)
		if err == nil && len(shards) == 1 {
			o.Trace.add(shards[0], op)
		}
		if inside || err != nil {
			return op, err
		}
		return exec.CountReturnedByShard(op), nil
	}
	ops, err := onShards(sol, rowsWanted(sol), src, shards, func(d *shard.Descriptor, op exec.Operator) (exec.Operator, error) {
		o.Trace.add(d, op)
		if inside {
			return op, nil
		}
		return exec.CountReturned(op), nil
	})
	if err != nil {
		return nil, err
	}
	if len(ops) > 1 {
		ops = c.parallel(o, sol, ops)
	}
	return skipAndLimit(sol, gather(ops, sol.Pattern)), nil
}

// parallel makes the operators of several shards run concurrently, except in a transaction and for a sorted read of
// few rows.
func (c *Cluster) parallel(o *Op, sol *plan.Solution, ops []exec.Operator) []exec.Operator {
	if sol.Limit > 0 && sol.Skip+sol.Limit <= smallLimit && sol.Sorted || o.Txn != nil {
		return ops // reading ahead would cost more than it saves
	}
	return exec.Prefetch(o.Env, ops, c.workers)
}

// smallLimit is the largest number of rows for which the shards of a sorted read run one after another: for so few
// rows, goroutines cost more than they save.
const smallLimit = 16

// Explain prints the plan of a read; with stats, also the counters of its operators so far.
func (s *Stream) Explain(b *bson.Builder, stats bool) { s.Operator.Explain(b, stats) }
