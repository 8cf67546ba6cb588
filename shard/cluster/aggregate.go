package cluster

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/router"
)

// Aggregate opens a pipeline on a collection, a view, or (with an empty
// collection name) on a database. The caller closes the stream.
func (c *Cluster) Aggregate(o *Op, ns collection.Namespace, outline *agg.Outline, hint bson.Value) (s *Stream, err error) {
	if outline.Watches() {
		return c.watch(o, ns, outline.Stages)
	}
	if outline.Err != nil {
		return nil, outline.Err
	}
	v, err := c.view(o, outline.Reads(o.Env.DB, ns)...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if s == nil { // an error, or a panic
			v.close()
		}
	}()
	return c.openStages(o, v, ns, outline, hint)
}

// openStages resolves the namespace of a pipeline, which may be a view (viewOn), parses the pipeline and opens it at
// the read view v. The returned stream owns v and closes it.
func (c *Cluster) openStages(o *Op, v *view, ns collection.Namespace, outline *agg.Outline, hint bson.Value) (*Stream, error) {
	coll, base, prefix, err := v.snap.Resolve(ns)
	if err != nil {
		return nil, err
	}
	switch view := v.snap.Collection(ns); {
	case view != nil && view.IsView():
		if err := useViewCollation(o.Env, view); err != nil {
			return nil, err
		}
		if outline.First != nil && outline.First.OfView {
			base, prefix = ns, nil
		}
	case coll != nil:
		useCollation(o.Env, coll)
	}
	opts := agg.Options{NS: base}
	if o.Txn != nil {
		opts.In = agg.InTransaction
	}
	if outline.BySelf() {
		opts.NS, prefix = ns, nil
		if err := checkFusion(outline.First.Name, coll, ns); err != nil {
			return nil, err
		}
	}
	series := v.snap.Series(ns)
	if series != nil && opts.NS == ns && !outline.BySelf() {
		coll, opts.NS = series, series.Namespace
		useCollation(o.Env, coll)
	} else {
		series = nil
	}
	p, err := agg.Parse(o.Env, append(prefix, outline.Stages...), opts)
	if err != nil {
		return nil, err
	}
	if series != nil {
		p = agg.Pack(series.Namespace, BucketsOf(&series.Options)).Concat(p)
	}
	if p.Writes() {
		if err := c.checkWritable(o); err != nil {
			return nil, err
		}
	}
	op := &opener{c: c, o: o, v: v, trace: o.Trace, span: oplogSpan(outline)}
	if op.singleRead = ns == base && len(outline.Involved) == 0; op.singleRead {
		op.filter = outline.Filter()
	}
	if coll != nil {
		c.begin(o, coll)
	} else {
		o.meter.SetCap(o.Cap)
		o.Env.Meter = &o.meter
	}
	s := &Stream{Coll: coll, c: c, op: o, v: v}
	in, err := op.pipeline(o.Env, coll, p.Optimize(), hint)
	if err != nil {
		return nil, err
	}
	s.Operator, s.Solution, s.Shards = in.Operator, in.Solution, in.Shards
	s.Pipeline, s.oplog = p, op.oplog
	if op.edges != nil {
		s.Pipeline = op.edges
	}
	if s.oplog != nil {
		v.close() // the log is not part of a snapshot, and the stream may follow it for long
	}
	return s, nil
}

// checkFusion rejects a pipeline on a time-series collection, or on its buckets, that begins with a stage which ranks
// the results of several pipelines; name is the stage ($rankFusion, $scoreFusion).
// Observed: mongod 8.2.
func checkFusion(name string, coll *catalog.Collection, ns collection.Namespace) error {
	if coll != nil && coll.Options.TimeSeries != nil || strings.HasPrefix(ns.Coll, "system.buckets.") {
		return mongoerr.New(10557301, "%s is not supported on time-series collections", name)
	}
	return nil
}

// checkWritable rejects $out and $merge in a transaction.
func (c *Cluster) checkWritable(o *Op) error {
	if o.Txn != nil {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "$out and $merge cannot be used in a transaction")
	}
	return nil
}

// opener opens the pipelines of one command, its own and those inside its stages ($lookup, $unionWith, …), at the
// command's read view. It implements agg.Opener.
type opener struct {
	c *Cluster
	o *Op
	v *view
	// depth is the number of pipelines that enclose this one.
	depth int
	// trace collects, for explain or the profiler, the operators of the command's own pipeline, not of pipelines
	// inside it.
	trace *Trace
	// changes is the change stream that Changes has opened below the pipeline, nil for other pipelines.
	changes *changestream.Stream
	events  *changestream.Filter // the condition of the stages after $changeStream on the events; nil = none
	oplog   *oplogOp             // the reader of the change log below the pipeline; nil for other pipelines
	span    span                 // the times of the change log that the pipeline selects
	edges   *agg.Pipeline        // the form of the pipeline that runs, if it is that of byEdges; else nil
	// singleRead is true if the command reads one collection, once.
	singleRead bool
	filter     bson.Raw // of a leading $match of a single read; nil for none
}

// Open implements agg.Opener.
func (x *opener) Open(env *mql.Env, ns collection.Namespace, p *agg.Pipeline) (exec.Operator, error) {
	probes := p.Probes()
	coll, p, throughView, err := x.resolve(env, ns, p)
	if err != nil {
		return nil, err
	}
	if coll != nil {
		x.c.Budgets.LowerCap(x.o.Cap, uint64(coll.ID), x.o.Class, x.o.AppName)
	}
	probing, err := chargeProbes(env, coll, probes, throughView)
	if err != nil {
		return nil, err
	}
	// inner has an op of its own, because the goroutine of a shard may open it while the command continues, or after
	// a batch, before the next getMore.
	inner := opener{c: x.c, o: x.o.forSubPipeline(env), v: x.v, depth: x.depth + 1}
	if x.o.explained() {
		inner.trace = &Trace{}
	}
	before := env.Meter.Probe(probing)
	in, err := inner.pipeline(env, coll, p.Optimize(), bson.Value{})
	env.Meter.Probe(before)
	if err != nil {
		return nil, err
	}
	if coll != nil {
		hits := 0
		if probes != nil {
			hits = len(probes.Values)
		}
		return &foreignOp{in.Operator, uint64(coll.ID), probing, hits, inner.trace}, nil
	}
	return in.Operator, nil
}

// resolve returns the collection that a pipeline inside the command reads, nil if it is missing, and the pipeline with
// the stages of a view (throughView) or a time series in front.
func (x *opener) resolve(env *mql.Env, ns collection.Namespace, p *agg.Pipeline) (coll *catalog.Collection, whole *agg.Pipeline, throughView bool, err error) {
	coll, base, prefix, err := x.v.snap.Resolve(ns)
	if err != nil {
		return nil, nil, false, err
	}
	if view := x.v.snap.Collection(ns); view != nil && view.IsView() && !env.Collation.Equal(view.Options.Collation) {
		return nil, nil, false, mongoerr.New(mongoerr.OptionNotSupportedOnView, "Cannot override a view's default collation %s", ns)
	}
	if p.ReadsBySelf() {
		if err := checkFusion(p.FirstName(), coll, ns); err != nil {
			return nil, nil, false, err
		}
		prefix = nil
	}
	if len(prefix) > 0 {
		head, err := agg.Parse(env, prefix, agg.Options{NS: base, Depth: x.depth + 1})
		if err != nil {
			return nil, nil, false, err
		}
		p = head.Concat(p)
	}
	if series := x.v.snap.Series(ns); series != nil && !p.ReadsBySelf() {
		coll = series
		p = agg.Pack(series.Namespace, BucketsOf(&series.Options)).Concat(p)
	}
	return coll, p, len(prefix) > 0, nil
}

// pipeline opens an optimised pipeline on the collection with the given catalog entry; the entry of a missing
// collection is nil.
func (x *opener) pipeline(env *mql.Env, coll *catalog.Collection, p *agg.Pipeline, hint bson.Value) (opened, error) {
	p, err := withGeoKey(env, coll, p)
	if err != nil {
		return opened{}, err
	}
	if coll == nil || p.IsSource() {
		in, err := x.source(p)
		if err != nil {
			return opened{}, err
		}
		op, err := p.Open(env, in, x)
		return opened{Operator: op}, err
	}
	q, err := plan.OfFilter(env, coll, p.Filter())
	if err != nil {
		return opened{}, err
	}
	shards := router.Targets(coll, q.Match, env.Collation == nil)
	x.o.reach = reach{filter: q.Match}
	if err := x.c.admit(x.o, coll, shards, ratelimit.ReadKind); err != nil {
		return opened{}, err
	}
	if p, err = x.byEdges(q, p, hint); err != nil {
		return opened{}, err
	}
	if s, ok, err := x.runSample(env, q, p, hint, shards); ok || err != nil {
		return s, err
	}
	if s, ok, err := x.runSkipping(env, q, p, hint, shards); ok || err != nil {
		return s, err
	}
	if len(shards) == 1 {
		return x.runOnOneShard(env, q, p, hint, shards)
	}
	return x.runDivided(env, q, p, hint, shards)
}

// source returns the operator that feeds a pipeline which reads no stored collection: the change log, a virtual
// collection or a missing one; nil if the pipeline begins with a source stage of its own.
func (x *opener) source(p *agg.Pipeline) (exec.Operator, error) {
	switch {
	case p.IsSource():
		return nil, nil
	case p.NS == OplogNamespace:
		x.oplog = &oplogOp{c: x.c, span: x.span}
		return x.oplog, nil
	}
	return x.c.virtualDocs(x.o, p.NS, x.filter)
}

// virtualDocs delivers the documents of a namespace that is not stored: those that Upper.Virtual computes
// (config.chunks, …), or none. filter selects from them afterwards; nil for all.
func (c *Cluster) virtualDocs(o *Op, ns collection.Namespace, filter bson.Raw) (exec.Operator, error) {
	if c.upper.Pages != nil {
		if next := c.upper.Pages(o, ns, filter); next != nil {
			return exec.Pages(o.Env, next), nil
		}
	}
	if c.upper.Virtual != nil {
		if docs, ok := c.upper.Virtual(o, ns); ok {
			return exec.Documents(o.Env, docs)
		}
	}
	return exec.Concat(nil), nil
}

// choose picks the plan for the front of a pipeline: the first stages (filter, sort, skip, limit, projection), which
// the plan of a query executes. q is the query of the front's filter.
func (x *opener) choose(q *plan.Query, f agg.Front, hint bson.Value) (*plan.Solution, error) {
	q, err := reading(q, f, hint)
	if err != nil {
		return nil, err
	}
	return x.c.choose(x.o, x.v, q)
}

// reading returns the query q of a filter with the other arguments of a pipeline's front.
func reading(q *plan.Query, f agg.Front, hint bson.Value) (*plan.Query, error) {
	find := plan.Find{Skip: f.Skip, Limit: f.Limit, Hint: hint, KeysOnly: f.Count || f.Projection != nil, AnyOrder: f.AnyOrder, Distinct: f.Distinct, Edge: f.Edge, EdgeLast: f.EdgeLast, Metas: f.Metas}
	if !f.Count && f.Projection != nil {
		for name, v := range f.Projection.Fields() {
			if v.Truthy() {
				find.NeedKeys = append(find.NeedKeys, string(name))
			}
		}
	}
	return q.Reading(find, f.Sort)
}

// byEdges returns the form p.ByEdges of a pipeline if its plan is an index scan that skips from group to group, else p. An
// index filter for the shape of the pipeline's query keeps p, because the form has another shape.
func (x *opener) byEdges(q *plan.Query, p *agg.Pipeline, hint bson.Value) (*agg.Pipeline, error) {
	with := p.ByEdges()
	if with == nil {
		return p, nil
	}
	written, err := reading(q, p.Front(), hint)
	if err != nil {
		return nil, err
	}
	if x.c.Plans.Restrict(written) != written {
		return p, nil
	}
	r, err := reading(q, with.Front(), hint)
	if err != nil {
		return nil, err
	}
	// Query settings and the index filter of this form may forbid the index.
	_, sols, err := x.c.candidates(x.o, r)
	if err != nil || !sols[0].SkipsToEdges() {
		return p, err
	}
	x.edges = with
	return with, nil
}

// runOnOneShard runs the whole pipeline on the one shard that can hold matches.
func (x *opener) runOnOneShard(env *mql.Env, q *plan.Query, p *agg.Pipeline, hint bson.Value, shards []*shard.Descriptor) (opened, error) {
	f := p.Front()
	ops, sol, err := x.openShards(q, f, hint, shards, func(sol *plan.Solution, in exec.Operator) (exec.Operator, error) {
		return f.Remaining.Open(env, skipAndLimit(sol, in), x)
	})
	if err != nil {
		return opened{}, err
	}
	return opened{ops[0], sol, shards}, nil
}

// runDivided runs the first part of a pipeline on each of the shards, and the rest on the merged rows of all shards.
// Outside of transactions the shards run concurrently.
func (x *opener) runDivided(env *mql.Env, q *plan.Query, p *agg.Pipeline, hint bson.Value, shards []*shard.Descriptor) (opened, error) {
	part, rest, by := p.Divide()
	f := part.Front()
	ops, sol, err := x.openShards(q, f, hint, shards, func(_ *plan.Solution, in exec.Operator) (exec.Operator, error) {
		return f.Remaining.Open(env, in, x)
	})
	if err != nil {
		return opened{}, err
	}
	if x.o.Txn == nil {
		ops = exec.Prefetch(env, ops, x.c.workers)
	}
	op, err := rest.Open(env, gather(ops, by), x)
	return opened{op, sol, shards}, err
}

// openShards plans the front of a pipeline and opens its plan on each shard. top adds the further stages that run on the
// shard.
func (x *opener) openShards(q *plan.Query, f agg.Front, hint bson.Value, shards []*shard.Descriptor, top func(sol *plan.Solution, in exec.Operator) (exec.Operator, error)) ([]exec.Operator, *plan.Solution, error) {
	sol, counts, err := x.planFront(q, f, hint, shards)
	if err != nil {
		return nil, nil, err
	}
	src := x.c.source(x.o, x.v, q.Coll, counts)
	ops, err := onShards(sol, rowsWanted(sol), src, shards, func(d *shard.Descriptor, in exec.Operator) (exec.Operator, error) {
		if f.SortKey() {
			in = exec.WithSortKey(in, f.Sort)
		}
		op, err := top(sol, in)
		if err != nil {
			return nil, err
		}
		x.trace.add(d, op)
		return exec.CountReturnedAt(op, int(d.ID)), nil
	})
	return ops, sol, err
}

// planFront picks the plan for the front of a pipeline. Where counters replace a scan (tallies), or a part of it
// (skipCounts), counts holds the number of documents of each shard; else it is nil.
func (x *opener) planFront(q *plan.Query, f agg.Front, hint bson.Value, shards []*shard.Descriptor) (sol *plan.Solution, counts map[shard.ID]int64, err error) {
	if counts, err = x.tallies(q.Coll, f, hint, shards); err != nil {
		return nil, nil, err
	}
	if counts != nil {
		sol = &plan.Solution{Shards: &plan.FastCount{Priced: true}, Certain: true}
		x.c.chosen(x.o, q, sol)
		return sol, counts, nil
	}
	if sol, err = x.choose(q, f, hint); err != nil {
		return nil, nil, err
	}
	counts, err = x.skipCounts(q.Coll, sol, shards)
	return sol, counts, err
}

// skipCounts is Cluster.skipCounts for a pipeline that makes no other reads, which use one state.
func (x *opener) skipCounts(coll *catalog.Collection, sol *plan.Solution, shards []*shard.Descriptor) (map[shard.ID]int64, error) {
	if !x.singleRead {
		return nil, nil
	}
	return x.c.skipCounts(x.o, x.v, coll, sol, shards)
}

// Info implements agg.Opener.
func (x *opener) Info(env *mql.Env, ns collection.Namespace, kind string, spec bson.Raw) (exec.Operator, error) {
	if x.c.upper.Info == nil {
		return nil, mongoerr.NotImplementedYet(kind)
	}
	docs, err := x.c.upper.Info(x.o, ns, kind, spec)
	if err != nil {
		return nil, err
	}
	return exec.Documents(env, docs)
}
