package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/cursor"
)

// aggregateArgs are the arguments of aggregate.
type aggregateArgs struct {
	pipeline *agg.Outline
	batch    int64
	hasBatch bool
	cursor   bool
	explain  bool
	hint     bson.Value
}

// runAggregate answers aggregate. Manual: reference/command/aggregate.
func runAggregate(c *Call) error {
	c.Body = c.Body.Clone() // the cursor may outlive the request
	first, _ := c.Body.First()
	c.Value = first.Value
	a, err := c.parseAggregate()
	if err != nil {
		return err
	}
	if err := c.checkStages(&a); err != nil {
		return err
	}
	ns, err := c.aggregateNamespace()
	if err != nil {
		return err
	}
	if !a.cursor && !a.explain {
		return mongoerr.New(mongoerr.FailedToParse, "The 'cursor' option is required, except for aggregate with the explain argument")
	}
	if c.ReadConcern == "linearizable" && a.pipeline.Writes() {
		return mongoerr.New(mongoerr.InvalidOptions, "$out and $merge cannot be used with a 'linearizable' read concern level")
	}
	c.stats.command.Add(1)
	if a.explain && c.Args.InTxn {
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot run 'explain' in a multi-document transaction.")
	}
	if a.explain {
		return c.explainAggregate(ns, a)
	}
	if c.querySettings.concern(ns) {
		if err := c.applyQuerySettings(&explained{ns: ns, pipeline: a.pipeline}); err != nil {
			return err
		}
	}
	size := firstBatch
	if a.hasBatch {
		size = int(a.batch)
	}
	if err := c.streamPipeline(ns, a.pipeline, a.hint, size); err != nil || !a.pipeline.Writes() {
		return err
	}
	if e := c.WriteConcern.failure(); e != nil && c.concernError == nil {
		b := bson.NewBuilder(nil)
		b.Splice(e.AppendWriteConcernError(nil))
		c.concernError = b.Doc()
	}
	return nil
}

// streamPipeline opens a pipeline and answers with its first batch.
func (c *Call) streamPipeline(ns collection.Namespace, pipeline *agg.Outline, hint bson.Value, size int) error {
	if err := c.checkStableFirst(pipeline); err != nil {
		return err
	}
	s, err := c.Cluster.Aggregate(&c.Op, ns, pipeline, hint)
	if err != nil {
		return err
	}
	named := ns
	if named.Coll == "" {
		named.Coll = "$cmd.aggregate"
	}
	if s.Changes != nil {
		o := cursor.Options{Namespace: named, Tailable: true, AwaitData: true, Outlives: true}
		return c.openCursor(o, newChangeSource(s, &c.Op), size, false)
	}
	return c.openCursor(cursor.Options{Namespace: named}, &streamSource{s: s, op: &c.Op}, size, false)
}

// aggregateNamespace is the collection, or the database for {aggregate: 1}.
func (c *Call) aggregateNamespace() (collection.Namespace, error) {
	if c.Value.IsNumber() {
		if n, ok := c.Value.AsFloat(); !ok || n != 1 {
			return collection.Namespace{}, mongoerr.New(mongoerr.BadValue, "Invalid command format: the 'aggregate' field must specify a collection name or 1")
		}
		return collection.Namespace{DB: c.DB}, nil
	}
	return c.readNamespace()
}

func (c *Call) parseAggregate() (a aggregateArgs, err error) {
	hasPipeline := false
	err = c.Each(func(name string, v bson.Value) (known bool, err error) {
		known = true
		switch name {
		case "pipeline":
			hasPipeline = !v.IsMissing()
			if hasPipeline {
				a.pipeline, err = c.aggregatePipeline(v)
			}
		case "cursor":
			a.cursor = true
			err = c.aggregateCursor(&a, v)
		case "explain":
			a.explain, err = c.boolArg(name, v)
		case "allowDiskUse":
			if v.IsMissing() {
				return true, mongoerr.WrongType(c.field(name), bson.TypeNull.String(), "bool")
			}
			c.Env().Memory.Spill, err = c.strictBool(name, v)
		case "bypassDocumentValidation":
			c.Op.BypassValidation, err = c.boolArg(name, v)
		case "hint":
			a.hint, err = c.givenHint(v)
		case "collation":
			err = c.setCollation(v)
		case "let":
			err = c.setLet(v)
		case "fromMongos", "needsMerge", "exchange", "requestResumeToken", "isMapReduceCommand", "collectionUUID", "fromRouter", "includeQueryStatsMetrics":
		default:
			known = false
		}
		return known, err
	})
	if err == nil && !hasPipeline {
		err = mongoerr.MissingField(c.field("pipeline"))
	}
	return a, err
}

func (c *Call) aggregateCursor(a *aggregateArgs, v bson.Value) error {
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(mongoerr.TypeMismatch, "cursor field must be missing or an object")
	}
	return eachField(d, "cursor", func(name string, v bson.Value) (bool, error) {
		if name != "batchSize" {
			return false, nil
		}
		var err error
		a.hasBatch = !v.IsMissing()
		if a.batch, err = c.longArg(name, v); a.batch < 0 {
			err = mongoerr.New(mongoerr.BadValue, "cursor.batchSize must not be negative")
		}
		return true, err
	})
}

// A read of a view is an aggregation: the view's pipeline, then stages that do
// what the read asks for. Manual: core/views.

// findStages are the stages of a find.
func findStages(f plan.Find) []bson.Raw {
	var out []bson.Raw
	stage := func(fill func(b *bson.Builder)) {
		b := bson.NewBuilder(nil)
		fill(b)
		out = append(out, b.Doc())
	}
	if !f.Filter.IsEmpty() {
		stage(func(b *bson.Builder) { b.Raw("$match", f.Filter) })
	}
	if natural := f.Sort.Get("$natural"); f.Sort.Len() == 1 && natural.IsNumber() {
		// Only the change log is read as a pipeline and has an order: that of ts.
		if n, _ := natural.AsInt64(); n < 0 {
			stage(func(b *bson.Builder) {
				b.BeginDoc("$sort")
				b.Int32("ts", -1)
				b.End()
			})
		}
	} else if !f.Sort.IsEmpty() {
		stage(func(b *bson.Builder) { b.Raw("$sort", f.Sort) })
	}
	if f.Skip > 0 {
		stage(func(b *bson.Builder) { b.Int64("$skip", f.Skip) })
	}
	if f.Limit > 0 {
		stage(func(b *bson.Builder) { b.Int64("$limit", f.Limit) })
	}
	if !f.Projection.IsEmpty() {
		stage(func(b *bson.Builder) { b.Raw("$project", f.Projection) })
	}
	return out
}

func (c *Call) findOnView(ns collection.Namespace, a findArgs) error {
	if ns == cluster.OplogNamespace && a.fromTheEnd() {
		if err := c.lastEntries(&a); err != nil {
			return err
		}
	}
	s, err := c.Cluster.Aggregate(&c.Op, ns, agg.NewOutline(findStages(a.Find)), a.Hint)
	if err != nil {
		return err
	}
	return c.openCursor(cursor.Options{Namespace: ns, NoTimeout: a.noTimeout}, &streamSource{s: s, op: &c.Op, limit: a.Limit}, a.batchSize(), a.single)
}

func (c *Call) countOnView(ns collection.Namespace, f plan.Find) error {
	b := bson.NewBuilder(nil)
	b.String("$count", "n")
	n := int64(0)
	err := c.drain(ns, append(findStages(f), b.Doc()), f.Hint, func(d bson.Raw) error {
		n, _ = d.Get("n").Int64()
		return nil
	})
	if err == nil {
		c.Reply.Int("n", n)
	}
	return err
}

func (c *Call) distinctOnView(ns collection.Namespace, a *distinctArgs) error {
	set, err := cluster.NewValueSet(a.key)
	if err != nil {
		return err
	}
	defer set.Release(c.Env())
	out := bson.NewArrayBuilder(nil)
	err = c.drain(ns, findStages(plan.Find{Filter: a.filter}), a.hint, func(d bson.Raw) error {
		if err := set.Each(c.Env(), d, func(v bson.Value) { out.Value("", v) }); err != nil {
			return err
		}
		return cluster.CheckDistinct(out.Len())
	})
	if err == nil {
		c.Reply.Array("values", cluster.SortValues(c.Env(), out.Doc()))
	}
	return err
}

// drain reads a pipeline to its end, or until visit fails. The hint is for what a view is
// on; the zero value is none.
func (c *Call) drain(ns collection.Namespace, stages []bson.Raw, hint bson.Value, visit func(bson.Raw) error) error {
	s, err := c.Cluster.Aggregate(&c.Op, ns, agg.NewOutline(stages), hint)
	if err != nil {
		return err
	}
	defer s.Close()
	defer s.Settle()
	for {
		row, err := s.Next(c.Env())
		if row == nil || err != nil {
			return err
		}
		if err := visit(row.Doc); err != nil {
			return err
		}
	}
}
