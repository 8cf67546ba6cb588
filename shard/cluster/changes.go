package cluster

import (
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// watch opens a pipeline that begins with $changeStream. The stream holds no snapshot, because it may stay open for
// weeks.
func (c *Cluster) watch(o *Op, ns collection.Namespace, stages []bson.Raw) (*Stream, error) {
	snap := c.catalog.Peek()
	coll := snap.Collection(ns)
	if coll != nil && coll.IsView() {
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s is a view, not a collection", ns)
	}
	if coll != nil && coll.Options.TimeSeries != nil {
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s is a timeseries collection, and those have no change streams", ns)
	}
	opts := agg.Options{NS: ns}
	if o.Txn != nil {
		opts.In = agg.InTransaction
	}
	if o.Env.Strict() && !o.Env.Cosmos.Lenient {
		stages = changestream.HideFields(stages)
	}
	p, err := agg.Parse(o.Env, stages, opts)
	if err != nil {
		return nil, err
	}
	if err := checkWatch(o, p); err != nil {
		return nil, err
	}
	var held *ratelimit.Throttled
	if coll != nil { // a throttled stream is opened too; its first page is empty
		c.begin(o, coll)
		held = c.Budgets.Injected(ratelimit.ShardID{Collection: uint64(coll.ID)}, ratelimit.ReadKind)
	} else {
		o.meter.SetCap(o.Cap)
		o.Env.Meter = &o.meter
	}
	x := &opener{c: c, o: o, v: &view{snap: snap}, trace: o.Trace, events: changestream.NewFilter(o.Env, p.FilterAfterSource())}
	s := &Stream{Coll: coll, Pipeline: p, c: c, op: o, v: x.v}
	if s.Operator, err = p.Open(o.Env, nil, x); err != nil {
		return nil, err
	}
	s.Changes, s.delayedRefusal = x.changes, held
	return s, nil
}

// Refused returns how long a change stream must wait before it reads on, because the budget of its collection is used
// up or a test has injected a refusal; 0 if it may read.
func (s *Stream) Refused() time.Duration {
	if t := s.delayedRefusal; t != nil {
		s.delayedRefusal = nil
		return max(t.RetryAfter, time.Millisecond)
	}
	if s.Coll == nil || !s.c.needsAdmission(s.Coll) {
		return 0
	}
	s.op.class = s.c.Budgets.Collection(uint64(s.Coll.ID)).ClassOf(s.op.Class, s.op.AppName)
	if t := s.c.Budgets.Admit(s.c.Now(), ratelimit.Scope{Collection: uint64(s.Coll.ID)}, s.op.class); t != nil {
		return max(t.RetryAfter, time.Millisecond)
	}
	return 0
}

// Polled charges one poll of the stream: an idle poll if there was nothing, otherwise the visit of
// a partition. Source: the price list, rule R16.
func (s *Stream) Polled(idle bool) {
	item := ratelimit.PartitionVisit
	if idle {
		item = ratelimit.IdlePoll
	}
	s.op.Env.Meter.Add(0, item, 1)
}

// checkWatch rejects a $changeStream pipeline with stages that cannot run over an endless stream, such as blocking
// ones.
// Errors: IllegalOperation (20), and the errors of checkWatched.
func checkWatch(o *Op, p *agg.Pipeline) error {
	for _, s := range p.Stages()[1:] {
		if def := agg.FindStage(s.Name()); def == nil || !def.AfterChanges || s.Constraints().Blocking {
			return mongoerr.New(mongoerr.IllegalOperation, "%s is not permitted in a $changeStream pipeline", s.Name())
		}
	}
	return checkWatched(o.Env, p)
}

// Changes implements agg.Opener.
func (x *opener) Changes(env *mql.Env, ns collection.Namespace, arg bson.Raw) (exec.Operator, error) {
	spec, err := changestream.ParseSpec(arg, env.Release)
	if err != nil {
		return nil, err
	}
	if err := checkScope(ns, spec); err != nil {
		return nil, err
	}
	if err := restrictChanges(env, x.c.catalog.Peek(), ns, spec); err != nil {
		return nil, err
	}
	if spec.Cluster {
		ns = collection.Namespace{}
	}
	spec.Filter = x.events
	s, err := changestream.Open(env, x.c.changeSource(), ns, spec)
	if err != nil {
		return nil, err
	}
	x.changes = s
	return exec.CountReturnedAt(&changeOp{stream: s}, 0), nil
}

func (c *Cluster) changeSource() changestream.Source {
	return changestream.Source{Store: c.store, Hub: c.hub, Catalog: c.catalog.Peek, Lookup: c.lookup, ImagesSince: c.imagesSince}
}

// SetImageLife sets how long change streams show the images of documents before
// and after a change; 0 = as long as the change log reaches back.
// Manual: reference/cluster-parameters/changeStreamOptions.
func (c *Cluster) SetImageLife(d time.Duration) { c.imageLife.Store(int64(d)) }

// imagesSince implements changestream.Source.
func (c *Cluster) imagesSince() int64 {
	life := time.Duration(c.imageLife.Load())
	if life == 0 {
		return 0
	}
	return c.Now().Add(-life).UnixMilli()
}

// checkScope rejects change streams on databases and collections of the server itself, and streams on the whole
// cluster that are not opened on the admin database alone.
// Manual: changeStreams#watch-a-collection-database-or-deployment.
// Errors: InvalidNamespace (73), InvalidOptions (72).
func checkScope(ns collection.Namespace, spec *changestream.Spec) error {
	if spec.Cluster {
		if ns.DB != "admin" || ns.Coll != "" {
			return mongoerr.New(mongoerr.InvalidOptions, "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with no collection name; found %s", ns)
		}
		return nil
	}
	switch ns.DB {
	case "admin", "local", "config":
		return mongoerr.New(mongoerr.InvalidNamespace, "$changeStream may not be opened on the internal %s database", ns.DB)
	}
	if len(ns.Coll) > 7 && ns.Coll[:7] == "system." {
		return mongoerr.New(mongoerr.InvalidNamespace, "$changeStream may not be opened on the internal %s collection", ns)
	}
	return nil
}

// changeOp is the operator that delivers the events of a change stream to its pipeline. The end of the events is not
// final: if more events have come, the next call of Next delivers them.
type changeOp struct {
	stream *changestream.Stream
	row    exec.Row
	n      int64
}

// Next implements exec.Operator.
func (x *changeOp) Next(env *mql.Env) (*exec.Row, error) {
	doc, err := x.stream.Next(env)
	if doc == nil || err != nil {
		return nil, err
	}
	x.n++
	env.Meter.Loaded(0, len(doc), 0)
	x.row = exec.Row{Doc: doc}
	return &x.row, nil
}

// Explain implements exec.Operator.
func (x *changeOp) Explain(b *bson.Builder, stats bool) {
	b.String("stage", "CHANGE_STREAM")
	if stats {
		b.Int64("nReturned", x.n)
	}
}

// Park implements exec.Operator. There is nothing to release, because the change log is open only during a poll.
func (x *changeOp) Park() (int, bool) { return 0, true }

// Close implements exec.Operator.
func (x *changeOp) Close() {}

// lookup returns the present version of the document that a record of the change log has changed, for fullDocument:
// "updateLookup"; nil if the document or its collection is gone. It reads the record key or, if the collection has
// another shard key by now, finds the document by its _id.
func (c *Cluster) lookup(env *mql.Env, uuid [16]byte, rec *changelog.Record) (bson.Raw, error) {
	snap := c.catalog.Peek()
	coll := snap.ByID(rec.Collection)
	if coll == nil {
		coll = snap.ByUUID(uuid)
	}
	if coll == nil {
		return nil, nil
	}
	if coll.ID == rec.Collection {
		return c.lookupRecord(env, coll, rec)
	}
	id := rec.Key.Get("_id")
	if rec.Op == changelog.Insert {
		id = rec.Doc.Get("_id")
	}
	b := bson.NewBuilder(nil)
	b.BeginDoc("_id")
	b.Value("$eq", id)
	b.End()
	inner := *env
	inner.Collation, inner.SimpleCollation = nil, true
	s, err := c.Find(&Op{Env: &inner, Class: ratelimit.Class{}}, coll.Namespace, plan.Find{Filter: b.Doc(), Limit: 1})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	row, err := s.Next(&inner)
	if row == nil || err != nil {
		return nil, err
	}
	return row.Doc.Clone(), nil
}

// lookupRecord reads a record by its key.
func (c *Cluster) lookupRecord(env *mql.Env, coll *catalog.Collection, rec *changelog.Record) (bson.Raw, error) {
	r, err := c.store.Snapshot(env.Context(), 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	doc, err := r.Get(env.Context(), keyspace.AppendRecord(nil, coll.ID, rec.Position, rec.ID), nil)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	env.Meter.Loaded(int(coll.Map.Find(rec.Position, rec.ID).ID), len(doc), 0)
	return doc, nil
}

// ChangeTokens returns one resume token for each shard of a collection. A change stream that is resumed with a token
// delivers the changes within the positions of that shard, also after later splits. The streams of all tokens
// together deliver every change once.
// Source: Azure Cosmos DB for MongoDB, custom action GetChangeStreamTokens.
// Errors: NamespaceNotFound (26).
func (c *Cluster) ChangeTokens(ns collection.Namespace, after storage.Timestamp, binary bool) ([]bson.Raw, error) {
	coll := c.catalog.Peek().Collection(ns)
	if coll == nil || coll.IsView() {
		return nil, mongoerr.NoNamespace(ns.String())
	}
	var out []bson.Raw
	for _, d := range coll.Map.Shards() {
		t := changestream.Token{Time: max(after, 1), Mark: true, Partition: true, Range: d.Range, Binary: binary}
		out = append(out, t.Document())
	}
	return out, nil
}
