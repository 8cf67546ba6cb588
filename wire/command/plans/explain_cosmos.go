package plans

import (
	"slices"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// On the Cosmos listener, the reply of explain has Azure Cosmos DB's form in addition to MongoDB's. It has a stage
// $query, with the paths of the filter with and without an index and counters of the execution, or a stage
// $pointLookup with the record that was read. Values that are not available here are left out: Cosmos DB's times of
// single phases, and the sizes of documents that are not returned. A pipeline has MongoDB's form only, because its
// field stages has another meaning there.
// Source: Azure Cosmos DB for MongoDB, "troubleshoot-query-performance"; the replies of accounts in
// cjoakim/azure-cosmos-db, apis/mongo/java/readme.md (2023), whose numbers are doubles.

// cosmosVerbosity reads the verbosity of an explain in the form that clients of Azure Cosmos DB use:
// {executionStatistics: true}. ok is false for a verbosity in MongoDB's form, and on other listeners.
// Errors: BadValue (2) for a name other than executionStatistics.
func cosmosVerbosity(c *command.Call, v bson.Value) (level explained.Verbosity, ok bool, err error) {
	d, ok := v.Doc()
	if !ok || !c.Strict() {
		return explained.PlanOnly, false, nil
	}
	for it := d.Iter(); it.Next(); {
		if name := string(it.Name); name != "executionStatistics" {
			return explained.PlanOnly, true, mongoerr.BadEnum(c.Field("verbosity"), name)
		}
		if it.Value.Truthy() {
			level = explained.WithStats
		}
	}
	return level, true, nil
}

// cosmosStages appends the report in Azure Cosmos DB's form.
func (r *report) cosmosStages(b *bson.Builder) {
	ran := r.x.Level != explained.PlanOnly
	id, point := r.pointRead()
	b.BeginArray("stages")
	b.BeginDoc("")
	if point {
		b.String("stage", "$pointLookup")
	} else {
		b.String("stage", "$query")
	}
	if ran {
		b.Double("timeInclusiveMS", inMillis(r.took))
		b.Double("timeExclusiveMS", inMillis(r.took))
		b.Double("in", float64(r.returned))
		b.Double("out", float64(r.returned))
		b.BeginDoc("dependency")
		b.Double("getNextPageCount", 1) // it was read to the end in one page
		b.Double("count", float64(len(r.s.Shards)))
		b.Double("time", inMillis(r.took))
		b.Int64("bytes", r.bytes)
		b.End()
	}
	b.BeginDoc("details")
	ns := r.x.Ns
	if r.s.Coll != nil {
		ns = r.s.Coll.Namespace
	}
	b.String("database", ns.DB)
	b.String("collection", ns.Coll)
	if point {
		r.cosmosItem(b, id)
	} else {
		query := r.x.Find.Filter
		if query.IsEmpty() {
			query = bson.Empty
		}
		b.Raw("query", query)
		r.cosmosPaths(b)
		r.cosmosShards(b, ran)
		if ran {
			r.cosmosMetrics(b)
		}
	}
	b.End()
	b.End()
	b.End()
	charge := r.estimate.Receipt.Total
	if ran {
		charge = r.c.Op.Receipt.Receipt().Total
		b.Double("estimatedDelayFromRateLimitingInMilliseconds", inMillis(r.c.Op.Waited))
		b.Bool("retriedDueToRateLimiting", r.c.Op.Waited > 0)
	}
	b.Double("totalRequestCharge", charge.Float())
	if ran {
		b.BeginDoc("continuation")
		b.Bool("hasMore", false)
		b.End()
	}
	b.String("ActivityId", command.NewActivity().String())
}

// pointRead returns the _id of the record, if the plan reads a single record by its key; ok is false for other plans.
func (r *report) pointRead() (id bson.Value, ok bool) {
	if r.s.Solution == nil || !r.s.Solution.Point || r.s.Coll == nil {
		return id, false
	}
	id = equals(r.x.Find.Filter.Get("_id"))
	return id, !id.IsMissing()
}

// equals returns the value to which the condition v of a filter compares a field for equality; missing for any other.
func equals(v bson.Value) bson.Value {
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return v
	}
	if f, ok := d.First(); ok && len(f.Name) > 0 && f.Name[0] == '$' {
		return d.Get("$eq")
	}
	return v
}

// cosmosItem appends the record of a point read to the report: its _id and, if the shard key has one field, the value
// of that field.
func (r *report) cosmosItem(b *bson.Builder, id bson.Value) {
	b.BeginArray("items")
	b.BeginDoc("")
	b.Value("id", id)
	if fields := r.s.Coll.Key.Fields(); len(fields) == 1 {
		if v := equals(r.x.Find.Filter.Get(fields[0].Path.String())); !v.IsMissing() {
			b.Value("shardKey", v)
		}
	}
	b.End()
	b.End()
}

// cosmosShards appends the counters of each partition to the report; ran is true if the read was executed. Partitions
// are read concurrently, so a partition has a time of its own only if it is the single one.
func (r *report) cosmosShards(b *bson.Builder, ran bool) {
	b.BeginArray("shardInformation")
	for _, p := range r.trace.Parts {
		b.BeginDoc("")
		b.String("activityId", command.NewActivity().String())
		b.String("shardKeyRangeId", p.Shard.ID.String())
		if ran {
			tree := countersOf(p.Operator)
			if len(r.trace.Parts) == 1 {
				b.Double("durationMS", inMillis(r.took))
			}
			n, _ := tree.Get("nReturned").Int64()
			b.Double("preemptions", 0)
			b.Double("outputDocumentCount", float64(n))
			b.Double("retrievedDocumentCount", float64(exec.SumOf(tree, "docsExamined")))
		}
		b.End()
	}
	b.End()
}

// cosmosMetrics appends the counters of the execution, summed over all partitions. The hit ratio is the number of
// returned documents divided by the number of loaded ones; it is left out if none was loaded.
func (r *report) cosmosMetrics(b *bson.Builder) {
	var retrieved int64
	for _, p := range r.trace.Parts {
		retrieved += exec.SumOf(countersOf(p.Operator), "docsExamined")
	}
	b.BeginDoc("queryMetrics")
	b.Double("retrievedDocumentCount", float64(retrieved))
	b.Double("outputDocumentCount", float64(r.returned))
	if !r.x.Only {
		b.Double("outputDocumentSizeBytes", float64(r.bytes))
	}
	if retrieved > 0 {
		b.Double("indexHitRatio", min(1, float64(r.returned)/float64(retrieved)))
	}
	b.Double("totalQueryExecutionTimeMS", inMillis(r.took))
	b.End()
}

// cosmosPaths appends the paths of fields in the filter to the report: those with an index, and those without.
func (r *report) cosmosPaths(b *bson.Builder) {
	var paths []string
	if n, err := match.Parse(r.c.Env(), r.x.Find.Filter); err == nil { // on an error, the read has returned it
		filterPaths(n, "", func(p string) {
			if p != "" && !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		})
	}
	single, compound := r.usable(paths)
	b.BeginDoc("indexUsage")
	b.BeginDoc("pathsIndexed")
	appendPaths(b, "individualIndexes", paths, func(p string) bool { return single[p] })
	appendPaths(b, "compoundIndexes", paths, func(p string) bool { return compound[p] && !single[p] })
	b.End()
	b.BeginDoc("pathsNotIndexed")
	appendPaths(b, "individualIndexes", paths, func(p string) bool { return !single[p] && !compound[p] })
	appendPaths(b, "compoundIndexes", nil, nil)
	b.End()
	b.End()
}

// appendPaths appends the paths for which in returns true.
func appendPaths(b *bson.Builder, name string, paths []string, in func(string) bool) {
	b.BeginArray(name)
	for _, p := range paths {
		if in(p) {
			b.String("", p)
		}
	}
	b.End()
}

// usable returns the paths of a filter whose values can be found in an index. single holds those in a single-field or
// wildcard index, compound those in a compound index that begins with the path or with other paths of the filter.
// Only ready indexes that are not hidden count, partial ones only if the plan uses them.
func (r *report) usable(paths []string) (single, compound map[string]bool) {
	single, compound = map[string]bool{}, map[string]bool{}
	if r.s.Coll == nil {
		return single, compound
	}
	for _, ix := range r.s.Coll.Indexes {
		chosen := r.s.Solution != nil && r.s.Solution.Index == ix.Name
		if ix.State != catalog.IndexReady || ix.Hidden || ix.Partial != nil && !chosen {
			continue
		}
		if ix.Kind.Name == "wildcard" {
			for _, p := range paths {
				if at, err := path.Compile(p); err == nil {
					if covered, _ := ix.WildcardCovers(at); covered {
						single[p] = true
					}
				}
			}
			continue
		}
		found := single
		if len(ix.Fields()) > 1 {
			found = compound
		}
		for _, f := range ix.Fields() {
			if !slices.Contains(paths, f) {
				break
			}
			found[f] = true
		}
	}
	return single, compound
}

// filterPaths calls add with each path of fields, from the document's root, that a filter examines. under is the path
// above n.
func filterPaths(n match.Node, under string, add func(string)) {
	switch n := n.(type) {
	case *match.ElemMatch:
		for _, c := range n.Children() {
			filterPaths(c, under+n.Path().String()+".", add)
		}
	case match.Pathed:
		add(under + n.Path().String())
	case *match.Expr:
		n.Expression().Paths(add)
	default:
		for _, c := range n.Children() {
			filterPaths(c, under, add)
		}
	}
}

// countersOf returns the tree of stages with their counters.
func countersOf(op exec.Operator) bson.Raw {
	b := bson.NewBuilder(nil)
	op.Explain(b, true)
	return b.Doc()
}

// inMillis returns a duration in milliseconds.
func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
