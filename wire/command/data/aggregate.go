package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/explained"
)

// aggregateArgs holds the arguments of aggregate.
type aggregateArgs struct {
	ns       collection.Namespace // without a Coll for {aggregate: 1}
	byUUID   bool                 // the collection was named by its UUID
	pipeline *agg.Outline
	batch    int64
	hasBatch bool
	cursor   bool
	explain  bool
	bypass   bool // documents that are written are not validated
	hint     bson.Value
}

// Needs notes the privileges that the user of an aggregate needs: on the collection that the first stage reads, and
// on those that other stages read and write.
func (a *aggregateArgs) Needs(q *command.PrivilegeCheck) {
	if a.byUUID {
		q.NeedOnCluster(auth.UseUUID)
	}
	q.Pipeline(a.ns, a.pipeline, a.bypass)
}

// Run answers aggregate. Manual: reference/command/aggregate.
func (a *aggregateArgs) Run(c *command.Call) error {
	if err := checkStages(c, a); err != nil {
		return err
	}
	ns := a.ns
	if !a.cursor && !a.explain {
		return mongoerr.New(mongoerr.FailedToParse, "The 'cursor' option is required, except for aggregate with the explain argument")
	}
	if c.ReadConcern == "linearizable" && a.pipeline.Writes() {
		return mongoerr.New(mongoerr.InvalidOptions, "$out and $merge cannot be used with a 'linearizable' read concern level")
	}
	c.Server.Stats.Command.Add(1)
	if a.explain && c.Args.InTxn {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot run 'explain' in a multi-document transaction.")
	}
	if a.explain {
		if err := explainedConcern(c); err != nil {
			return err
		}
		return c.Server.Planner.Explain(c, &explained.Explained{Ns: ns, Pipeline: a.pipeline, Find: plan.Find{Hint: a.hint}, Command: c.Body, Level: explained.PlanOnly})
	}
	if c.Server.Planner.HasSettings(ns) {
		if err := c.Server.Planner.ApplySettings(c, &explained.Explained{Ns: ns, Pipeline: a.pipeline}); err != nil {
			return err
		}
	}
	size := c.FirstBatch()
	if a.hasBatch {
		size = int(a.batch)
	}
	if err := streamPipeline(c, ns, a.pipeline, a.hint, size); err != nil || !a.pipeline.Writes() {
		return err
	}
	if e := c.WriteConcern.Failure(); e != nil && c.ConcernError == nil {
		b := bson.NewBuilder(nil)
		b.Splice(e.AppendWriteConcernError(nil))
		c.ConcernError = b.Doc()
	}
	return nil
}

// streamPipeline opens a pipeline and replies with its first batch.
func streamPipeline(c *command.Call, ns collection.Namespace, pipeline *agg.Outline, hint bson.Value, size int) error {
	if err := checkStableFirst(c, pipeline); err != nil {
		return err
	}
	s, err := c.Cluster.Aggregate(&c.Op, ns, pipeline, hint)
	if err != nil {
		return err
	}
	named := c.Named(ns)
	if named.Coll == "" {
		named.Coll = "$cmd.aggregate"
	}
	if s.Changes != nil {
		arg, _ := pipeline.FirstArg().Doc()
		countChangeStream(&c.Server.Stats.Changes, ns, arg)
		o := cursor.Options{Namespace: named, Tailable: true, AwaitData: true, SurvivesDrop: true}
		return c.OpenCursor(o, newChangeSource(s, &c.Op, &c.Server.Stats.Changes), size, false)
	}
	return c.OpenCursor(cursor.Options{Namespace: named}, &streamSource{s: s, op: &c.Op}, size, false)
}

// aggregateNamespace returns the collection, or only the database for {aggregate: 1}; byUUID is true if the command
// names the collection by its UUID.
func aggregateNamespace(c *command.Call) (ns collection.Namespace, byUUID bool, err error) {
	if c.Value.IsNumber() {
		if n, ok := c.Value.AsFloat(); !ok || n != 1 {
			return ns, false, mongoerr.New(mongoerr.BadValue, "Invalid command format: the 'aggregate' field must specify a collection name or 1")
		}
		return collection.Namespace{DB: c.DB}, false, nil
	}
	ns, err = c.ReadNamespace()
	return ns, c.Value.Type == bson.TypeBinary, err
}

// parseAggregate reads the arguments of aggregate.
func parseAggregate(c *command.Call) (command.Request, error) {
	c.Body = c.Body.Clone() // the cursor may outlive the request
	first, _ := c.Body.First()
	c.Value = first.Value
	a := &aggregateArgs{}
	err := c.ReadArgs(
		arguments.By("pipeline", func(v bson.Value) (err error) { a.pipeline, err = c.AggregatePipeline(v); return err }).Required(),
		arguments.By("cursor", func(v bson.Value) error { a.cursor = true; return aggregateCursor(c, a, v) }).WithNull(),
		arguments.Bool("explain", &a.explain),
		arguments.StrictBool("allowDiskUse", &c.Env().Memory.Spill).NotNull(),
		arguments.Bool("bypassDocumentValidation", &a.bypass),
		arguments.GivenHint("hint", &a.hint),
		arguments.By("collation", func(v bson.Value) error { return c.SetCollation(v) }),
		arguments.By("let", func(v bson.Value) error { return setLet(c, v) }),
		arguments.StrictBool("allowPartialResults", nil), // a read of several partitions is complete or an error
		arguments.StrictBool("fromMongos", nil),
		arguments.StrictBool("needsMerge", nil),
		arguments.StrictBool("requestResumeToken", nil),
		arguments.StrictBool("isMapReduceCommand", nil),
		arguments.StrictBool("fromRouter", nil),
		arguments.StrictBool("includeQueryStatsMetrics", nil),
		arguments.Doc("exchange", nil),
		c.ExpectUUID(collection.Namespace{}), // of the namespace that is read below
	)
	c.Op.BypassValidation = a.bypass
	if err == nil {
		a.ns, a.byUUID, err = aggregateNamespace(c)
	}
	if err == nil && !c.Op.Expected.UUID.IsMissing() {
		c.Op.Expected.Namespace = a.ns
		err = checkExpectable(a)
	}
	return a, err
}

// checkExpectable refuses collectionUUID for a pipeline that reads no collection.
// Errors: 4928900, 4928901. Source: SERVER-49289.
func checkExpectable(a *aggregateArgs) error {
	switch {
	case a.pipeline.Watches():
		return mongoerr.New(4928900, "collectionUUID is not supported for a change stream")
	case a.ns.Coll == "":
		return mongoerr.New(4928901, "collectionUUID is not supported for a collectionless aggregation")
	}
	return nil
}

// aggregateCursor reads the argument cursor of an aggregate, {batchSize: n}: the maximum size of the first batch.
func aggregateCursor(c *command.Call, a *aggregateArgs, v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(mongoerr.TypeMismatch, "cursor field must be missing or an object")
	}
	return arguments.EachField(d, "cursor", func(name string, v bson.Value) (bool, error) {
		if name != "batchSize" {
			return false, nil
		}
		var err error
		a.hasBatch = !v.IsMissing()
		if a.batch, err = c.LongArg(name, v); a.batch < 0 {
			err = mongoerr.New(mongoerr.BadValue, "cursor.batchSize must not be negative")
		}
		return true, err
	})
}

// A read of a view runs as an aggregation of the view's collection: the pipeline of the view, followed by stages that
// have the effect of the read. Time series and virtual collections are read in the same way.
// Manual: core/views.

// findOnView answers a find on a view, a time series or a virtual collection with an aggregation. A find of the last
// entries of the change log reads only the end of the log.
func findOnView(c *command.Call, ns collection.Namespace, a findArgs) error {
	if ns == cluster.OplogNamespace && a.fromTheEnd() {
		if err := lastEntries(c, &a); err != nil {
			return err
		}
	}
	s, err := c.Cluster.Aggregate(&c.Op, ns, agg.NewOutline(a.Find.Stages()), a.Hint)
	if err != nil {
		return err
	}
	return c.OpenCursor(cursor.Options{Namespace: c.Named(ns), NoTimeout: a.noTimeout}, &streamSource{s: s, op: &c.Op, limit: a.Limit}, a.batchSize(c), a.single)
}

// countOnView answers a count on a view, a time series or a virtual collection with an aggregation.
func countOnView(c *command.Call, ns collection.Namespace, f plan.Find) error {
	b := bson.NewBuilder(nil)
	b.String("$count", "n")
	n := int64(0)
	err := c.Drain(ns, append(f.Stages(), b.Doc()), f.Hint, func(d bson.Raw) error {
		n, _ = d.Get("n").Int64()
		return nil
	})
	if err == nil {
		c.Reply.Int("n", n)
	}
	return err
}

// distinctOnView answers a distinct on a view, a time series or a virtual collection with an aggregation.
func distinctOnView(c *command.Call, ns collection.Namespace, a *distinctArgs) error {
	set, err := exec.NewValueSet(a.key)
	if err != nil {
		return err
	}
	defer set.Release(c.Env())
	out := bson.NewArrayBuilder(nil)
	err = c.Drain(ns, plan.Find{Filter: a.filter}.Stages(), a.hint, func(d bson.Raw) error {
		if err := set.Each(c.Env(), d, func(v bson.Value) { out.Value("", v) }); err != nil {
			return err
		}
		return cluster.CheckDistinct(out.Len())
	})
	if err == nil {
		c.Reply.Array("values", exec.SortValues(c.Env(), out.Doc()))
		c.OKAsInt()
	}
	return err
}
