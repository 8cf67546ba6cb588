package plans

import (
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// report formats one explanation.
type report struct {
	c         *command.Call
	x         *explained.Explained
	s         *cluster.Stream
	trace     *cluster.Trace
	shapeHash string  // of the query
	settings  matched // of the query
	estimate  cluster.Estimate
	returned  int64
	bytes     int64 // of the documents returned
	took      time.Duration
	failed    *mongoerr.Error // the error that ended the execution; nil if it succeeded
}

// run executes the read of an explain to its end, if the verbosity requests counters. A pipeline that writes is not
// executed.
func (r *report) run() error {
	defer r.s.Settle()
	if r.x.Level == explained.PlanOnly || r.s.Pipeline != nil && r.s.Pipeline.Writes() {
		return nil
	}
	start := r.c.Cluster.Now()
	if r.isFastCount() {
		n, err := exec.CountRows(r.c.Env(), r.s.Operator)
		r.returned, r.took = n, r.c.Cluster.Now().Sub(start)
		return err
	}
	for {
		row, err := r.s.Next(r.c.Env())
		if r.failed = r.queryError(err); r.failed != nil {
			break // the error is part of the explanation
		}
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		r.returned++
		r.bytes += int64(len(row.Doc))
	}
	r.took = r.c.Cluster.Now().Sub(start)
	return nil
}

// isFastCount reports whether the command is a count that reads the counters of the partitions only.
func (r *report) isFastCount() bool {
	if r.x.Pipeline != nil || r.s.Solution == nil {
		return false
	}
	_, ok := r.s.Solution.Shards.(*plan.FastCount)
	return ok
}

// queryError returns err if the query itself fails with it, such as a division by zero; nil for an interrupt and
// other errors.
func (r *report) queryError(err error) (e *mongoerr.Error) {
	if r.c.Ctx.Err() == nil && errors.As(err, &e) {
		return e
	}
	return nil
}

// print appends the reply.
func (r *report) print(b *bson.Builder) {
	b.String("explainVersion", r.version(r.whole()))
	if r.x.Pipeline != nil {
		r.printPipeline(b)
	} else {
		r.queryPlanner(b, r.plan)
		if r.x.Level != explained.PlanOnly {
			b.BeginDoc("executionStats")
			r.executionStats(b, r.executed)
			b.End()
		}
		if r.c.Strict() {
			r.cosmosStages(b)
		}
	}
	b.String("queryShapeHash", r.shapeHash)
	r.charge(b)
	b.Raw("command", r.withDB())
	r.serverInfo(b)
	b.BeginDoc("serverParameters")
	memory := &r.c.Server.Memory
	b.Int64("internalQueryMaxBlockingSortMemoryUsageBytes", memory.Sort.Load())
	b.Int64("internalDocumentSourceGroupMaxMemoryBytes", memory.Group.Load())
	b.Int64("internalLookupStageIntermediateDocumentMaxSizeBytes", 104857600)
	b.End()
}

// withDB returns the command with its database as $db.
func (r *report) withDB() bson.Raw {
	b := bson.NewBuilder(nil)
	for it := r.x.Command.Iter(); it.Next(); {
		if !arguments.Generic(string(it.Name)) {
			b.ValueBytes(it.Name, it.Value)
		}
	}
	b.String("$db", r.c.DB)
	return b.Doc()
}

// serverInfo appends the address and version of the server.
func (r *report) serverInfo(b *bson.Builder) {
	host, port, _ := net.SplitHostPort(r.c.Server.Address())
	n, _ := strconv.Atoi(port)
	b.BeginDoc("serverInfo")
	b.String("host", host)
	b.Int32("port", int32(n))
	b.String("version", r.c.Release().Version())
	b.String("gitVersion", r.c.Server.Version)
	b.End()
}

// queryPlanner appends the plan; winning appends the winning plan.
func (r *report) queryPlanner(b *bson.Builder, winning func(b *bson.Builder)) {
	b.BeginDoc("queryPlanner")
	r.plannerHead(b)
	b.BeginDoc("winningPlan")
	winning(b)
	b.End()
	b.BeginArray("rejectedPlans")
	if r.s.Coll != nil && !r.s.Coll.Sharded() {
		r.rejected(b)
	}
	b.End()
	b.End()
}

// plannerHead appends the fields that do not depend on the plan.
func (r *report) plannerHead(b *bson.Builder) {
	ns := r.x.Ns
	if r.s.Coll != nil {
		ns = r.s.Coll.Namespace
	}
	b.String("namespace", ns.String())
	b.Raw("parsedQuery", cluster.ParsedQuery(&r.c.Op, filterOf(r.x)))
	b.Bool("indexFilterSet", r.s.Solution != nil && r.s.Solution.Filtered)
	r.settings.appendTo(b, r.c.Cluster.Now())
	shape := planShapeHash(planShape(r.c, r.x))
	b.String("queryHash", shape)
	b.String("planCacheShapeHash", shape)
	b.String("planCacheKey", shape)
	b.Int32("optimizationTimeMillis", 0)
	b.Bool("maxIndexedOrSolutionsReached", false)
	b.Bool("maxIndexedAndSolutionsReached", false)
	b.Bool("maxScansToExplodeReached", false)
	b.Bool("prunedSimilarIndexes", false)
}

// filterOf returns the filter that explain shows for a read; for a pipeline that of its leading $match.
func filterOf(x *explained.Explained) bson.Raw {
	if x.Pipeline == nil {
		return x.Find.Filter
	}
	if d := x.Pipeline.Filter(); d != nil {
		return d
	}
	return bson.Empty
}

// rejected appends the plans that were not chosen.
func (r *report) rejected(b *bson.Builder) {
	if r.s.Solution == nil {
		return
	}
	for _, s := range r.s.Solution.Rejected {
		b.BeginDoc("")
		plan.Append(b, s.Shards)
		b.End()
	}
}

// trials appends allPlansExecution: the counters of each candidate plan during the trial in which one was chosen.
func (r *report) trials(b *bson.Builder) {
	b.BeginArray("allPlansExecution")
	defer b.End()
	if r.s.Solution == nil || len(r.s.Solution.Rejected) == 0 || r.s.Solution.Tried == nil {
		return
	}
	for _, s := range append([]*plan.Solution{r.s.Solution}, r.s.Solution.Rejected...) {
		n, _ := s.Tried.Get("nReturned").AsInt64()
		b.BeginDoc("")
		b.Int("nReturned", n)
		b.Int32("executionTimeMillisEstimate", 0)
		b.Int("totalKeysExamined", exec.SumOf(s.Tried, "keysExamined"))
		b.Int("totalDocsExamined", exec.SumOf(s.Tried, "docsExamined"))
		b.Double("score", s.Score)
		b.Raw("executionStages", s.Tried)
		b.End()
	}
}

// plan appends the winning plan to the report: the operators of an unsharded collection, or the operators of every
// shard and the stage that merges their rows.
func (r *report) plan(b *bson.Builder) {
	r.wrap(b, false, func(b *bson.Builder) {
		if r.s.Coll == nil {
			b.String("stage", "EOF")
			return
		}
		if !r.s.Coll.Sharded() {
			r.s.Operator.Explain(b, false)
			return
		}
		b.String("stage", r.mergeStage())
		b.BeginArray("shards")
		for _, p := range r.trace.Parts {
			b.BeginDoc("")
			r.shardHead(b, p)
			r.plannerHead(b)
			b.BeginDoc("winningPlan")
			p.Operator.Explain(b, false)
			b.End()
			b.BeginArray("rejectedPlans")
			r.rejected(b)
			b.End()
			b.End()
		}
		b.End()
	})
}

// wrap appends the stage of a write or count, such as UPDATE, around the plan that inside appends; stats adds the
// stage's counters. Without stats, the plan of a sharded collection gets no such stage.
func (r *report) wrap(b *bson.Builder, stats bool, inside func(b *bson.Builder)) {
	if r.x.Stage == "" || r.s.Coll != nil && r.s.Coll.Sharded() && !stats || r.isFastCount() && !r.s.Coll.Sharded() {
		inside(b)
		return
	}
	b.String("stage", r.x.Stage)
	if stats {
		b.Int("nReturned", 0)
		b.Int32("executionTimeMillisEstimate", int32(r.took.Milliseconds()))
		switch r.x.Stage {
		case "COUNT":
			b.Int("nCounted", max(0, r.returned-r.x.Skipped))
			b.Int("nSkipped", min(r.returned, r.x.Skipped))
		case "UPDATE":
			b.Int("nMatched", r.returned)
			b.Int("nWouldModify", r.returned)
			upserts := int32(0)
			if r.x.Upsert && r.returned == 0 {
				upserts = 1
			}
			b.Int32("nWouldUpsert", upserts)
		case "DELETE":
			b.Int("nWouldDelete", r.returned)
		}
	}
	b.BeginDoc("inputStage")
	inside(b)
	b.End()
}

// mergeStage returns the name of the stage that merges the rows of several shards, as MongoDB shows it.
func (r *report) mergeStage() string {
	switch {
	case len(r.s.Shards) == 1:
		return "SINGLE_SHARD"
	case r.s.Solution != nil && r.s.Solution.Pattern != nil:
		return "SHARD_MERGE_SORT"
	}
	return "SHARD_MERGE"
}

// shardHead appends the shard on which a part of the plan runs, by its name and server.
func (r *report) shardHead(b *bson.Builder, p cluster.Part) {
	b.String("shardName", command.ShardName(p.Shard.ID))
	b.String("connectionString", r.c.Server.Address())
}

// executionStats appends counters; stages appends the tree with counters.
func (r *report) executionStats(b *bson.Builder, stages func(b *bson.Builder)) {
	tree := bson.NewBuilder(nil)
	stages(tree)
	d := tree.Doc()
	r.success(b)
	b.Int("nReturned", r.rows())
	b.Int("executionTimeMillis", r.took.Milliseconds())
	b.Int("totalKeysExamined", exec.SumOf(d, "keysExamined"))
	b.Int("totalDocsExamined", exec.SumOf(d, "docsExamined"))
	b.Raw("executionStages", d)
	if r.x.Level == explained.AllPlans {
		r.trials(b)
	}
}

// success appends executionSuccess, and if the query failed also its error.
// Manual: reference/explain-results#mongodb-data-explain.executionStats.executionSuccess.
func (r *report) success(b *bson.Builder) {
	b.Bool("executionSuccess", r.failed == nil)
	if r.failed != nil {
		b.String("errorMessage", r.failed.Msg)
		b.Int32("errorCode", int32(r.failed.Code))
	}
}

// rows returns the number of rows that the command would return; 0 for a write or a count.
func (r *report) rows() int64 {
	if r.x.Stage != "" {
		return 0
	}
	return r.returned
}

// executed appends the stages with their counters.
func (r *report) executed(b *bson.Builder) {
	r.wrap(b, true, func(b *bson.Builder) {
		if r.s.Coll == nil {
			b.String("stage", "EOF")
			return
		}
		if !r.s.Coll.Sharded() {
			r.s.Operator.Explain(b, true)
			return
		}
		b.String("stage", r.mergeStage())
		b.Int("nReturned", r.returned)
		b.Int("executionTimeMillis", r.took.Milliseconds())
		b.Int64("totalChildMillis", r.took.Milliseconds())
		b.BeginArray("shards")
		for _, p := range r.trace.Parts {
			b.BeginDoc("")
			r.shardStats(b, p.Operator, command.ShardName(p.Shard.ID))
			b.End()
		}
		b.End()
	})
}

// shardStats appends the counters of one shard.
func (r *report) shardStats(b *bson.Builder, op exec.Operator, name string) {
	tree := bson.NewBuilder(nil)
	op.Explain(tree, true)
	d := tree.Doc()
	n, _ := d.Get("nReturned").Int64()
	b.String("shardName", name)
	r.success(b)
	b.Int("nReturned", n)
	b.Int("executionTimeMillis", r.took.Milliseconds())
	b.Int("totalKeysExamined", exec.SumOf(d, "keysExamined"))
	b.Int("totalDocsExamined", exec.SumOf(d, "docsExamined"))
	b.Raw("executionStages", d)
}

// printPipeline appends the plan of an aggregation. If the query does all the work, the plan has the form of a find,
// else a list of stages. For a sharded collection, each shard has its own.
func (r *report) printPipeline(b *bson.Builder) {
	if r.s.Coll != nil && r.s.Coll.Sharded() {
		r.printDivided(b)
		return
	}
	r.printStages(b, r.whole())
}

// whole returns the operators of the command, or those of its only partition.
func (r *report) whole() exec.Operator {
	if len(r.trace.Parts) == 1 {
		return r.trace.Parts[0].Operator
	}
	return r.s.Operator
}

// printStages appends the stages that run in one place.
func (r *report) printStages(b *bson.Builder, op exec.Operator) {
	bare, full := stagesOf(op, false), stagesOf(op, true)
	groups := r.groupsInQuery(bare)
	bare, full = withGroups(bare, groups), withGroups(full, groups)
	first, _ := bare.Index(0)
	head, _ := first.Doc()
	tree, fromCursor := head.Get("$cursor").Doc()
	if !fromCursor {
		r.stageList(b, bare, full, nil, nil)
		return
	}
	counted, _ := full.Index(0)
	countedDoc, _ := counted.Doc()
	stats, _ := countedDoc.Get("$cursor").Doc()
	if bare.Len() == 1 && (r.s.Pipeline == nil || !r.s.Pipeline.Writes()) {
		r.cursor(b, tree, stats)
		return
	}
	r.stageList(b, bare, full, tree, stats)
}

// stagesOf returns a list of an operator and the operators below it as pipeline stages, with their counters if stats
// is true.
func stagesOf(op exec.Operator, stats bool) bson.Raw {
	b := bson.NewArrayBuilder(nil)
	agg.ExplainStages(b, op, stats)
	return b.Doc()
}

// cursor appends the part of a pipeline that is a query.
func (r *report) cursor(b *bson.Builder, tree, stats bson.Raw) {
	r.queryPlanner(b, func(b *bson.Builder) {
		if inQueryPlan(tree) {
			b.Raw("queryPlan", tree)
		} else {
			b.Splice(tree.Elements())
		}
	})
	if r.x.Level == explained.PlanOnly {
		return
	}
	b.BeginDoc("executionStats")
	n, _ := stats.Get("nReturned").Int64()
	r.success(b)
	b.Int("nReturned", n)
	b.Int("executionTimeMillis", r.took.Milliseconds())
	b.Int("totalKeysExamined", exec.SumOf(stats, "keysExamined"))
	b.Int("totalDocsExamined", exec.SumOf(stats, "docsExamined"))
	b.Raw("executionStages", stats)
	if r.x.Level == explained.AllPlans {
		r.trials(b)
	}
	b.End()
}

// stageList appends the stages of a pipeline: bare, or full with counters if the verbosity requests them. If tree is
// not nil, the first stage is a $cursor, the query with that plan.
func (r *report) stageList(b *bson.Builder, bare, full, tree, stats bson.Raw) {
	list := full
	if r.x.Level == explained.PlanOnly {
		list = bare
	}
	b.BeginArray("stages")
	for i, it := 0, list.Iter(); it.Next(); i++ {
		if i > 0 || tree == nil {
			b.Value("", it.Value)
			continue
		}
		b.BeginDoc("")
		b.BeginDoc("$cursor")
		r.cursor(b, tree, stats)
		b.End()
		if r.x.Level != explained.PlanOnly {
			n, _ := stats.Get("nReturned").Int64()
			b.Int("nReturned", n)
			b.Int32("executionTimeMillisEstimate", 0)
		}
		b.End()
	}
	b.End()
}

// printDivided appends the plan of a pipeline on a sharded collection: the part that runs on the shards, the part
// that runs on their merged rows, and the stages of each shard.
func (r *report) printDivided(b *bson.Builder) {
	if len(r.s.Shards) <= 1 || r.s.Pipeline == nil {
		b.String("mergeType", "none")
		b.Null("splitPipeline")
	} else {
		b.String("mergeType", "router")
		part, rest, by := r.s.Pipeline.Optimize().Divide()
		b.BeginDoc("splitPipeline")
		appendStages(b, "shardsPart", part)
		if by != nil {
			by.Append(b, "sortKey")
		}
		appendStages(b, "mergerPart", rest)
		b.End()
	}
	b.BeginDoc("shards")
	for _, p := range r.trace.Parts {
		b.BeginDoc(command.ShardName(p.Shard.ID))
		b.String("host", r.c.Server.Address())
		b.String("explainVersion", r.version(p.Operator))
		r.printStages(b, p.Operator)
		b.End()
	}
	b.End()
}

// appendStages appends the stages of a pipeline.
func appendStages(b *bson.Builder, name string, p *agg.Pipeline) {
	b.BeginArray(name)
	for _, s := range p.Stages() {
		b.BeginDoc("")
		s.Append(b)
		b.End()
	}
	b.End()
}

// charge appends the request units with the field names of Azure Cosmos DB: the estimate for the command and, if the
// read ran, its charge in total and by partition. A write is not carried out, so its charge does not contain the part
// of the estimate for writing.
func (r *report) charge(b *bson.Builder) {
	receipt := r.c.Op.Receipt.Receipt()
	if r.s.Coll != nil && len(r.estimate.Receipt.Lines) > 0 {
		b.BeginDoc("requestChargeEstimate")
		b.Double("total", r.estimate.Receipt.Total.Float())
		b.Bool("atLeast", r.estimate.AtLeast)
		b.Int("documents", r.estimate.Rows)
		r.charges(b, r.estimate.Receipt)
		b.String("prices", r.estimate.Receipt.Prices)
		b.End()
	}
	if r.x.Level != explained.PlanOnly {
		b.Double("requestCharge", receipt.Total.Float())
	}
	if r.s.Coll == nil {
		return
	}
	b.BeginArray("shardInformation")
	for _, d := range r.s.Shards {
		b.BeginDoc("")
		b.String("shardKeyRangeId", d.ID.String())
		for _, line := range receipt.Lines {
			if line.Shard != int(d.ID) || line.Collection != uint64(r.s.Coll.ID) {
				continue
			}
			b.Double("requestCharge", line.Total.Float())
			b.BeginDoc("items")
			for _, i := range line.Items {
				b.Int(i.Item.String(), i.Quantity)
			}
			b.End()
			b.BeginDoc("charges")
			for _, i := range line.Items {
				b.Double(i.Item.String(), i.Charge.Float())
			}
			b.End()
		}
		b.End()
	}
	b.End()
}

// charges appends the items of a receipt in request units, each summed up over all shards.
func (r *report) charges(b *bson.Builder, receipt ratelimit.Receipt) {
	sums := map[ratelimit.Item]ratelimit.MicroRU{}
	for _, line := range receipt.Lines {
		for _, i := range line.Items {
			sums[i.Item] += i.Charge
		}
	}
	b.BeginDoc("charges")
	for _, i := range slices.Sorted(maps.Keys(sums)) {
		b.Double(i.String(), sums[i].Float())
	}
	b.End()
}
