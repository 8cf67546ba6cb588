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

// On the Cosmos listener an explanation has Azure Cosmos DB's shape besides
// MongoDB's: a stage $query with the paths of its filter that have an index and
// those that have none, and what running it met. It holds what is known here:
// Cosmos DB's times of single phases and the sizes of documents that are not
// returned are left out. A pipeline keeps MongoDB's shape alone, which has another
// field stages.
// Source: Azure Cosmos DB for MongoDB, "troubleshoot-query-performance".

// cosmosVerbosity reads a verbosity as clients of Azure Cosmos DB write it, as in
// {executionStatistics: true}. ok is false for a verbosity of MongoDB's.
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

// cosmosStages prints the report as Azure Cosmos DB does.
func (r *report) cosmosStages(b *bson.Builder) {
	ran := r.x.Level != explained.PlanOnly
	b.BeginArray("stages")
	b.BeginDoc("")
	b.String("stage", "$query")
	if ran {
		b.Double("timeInclusiveMS", inMillis(r.took))
		b.Double("timeExclusiveMS", inMillis(r.took))
		b.Int("in", r.returned)
		b.Int("out", r.returned)
	}
	b.BeginDoc("details")
	ns := r.x.Ns
	if r.s.Coll != nil {
		ns = r.s.Coll.Namespace
	}
	b.String("database", ns.DB)
	b.String("collection", ns.Coll)
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
	b.End()
	b.End()
	b.End()
	if ran {
		b.Double("estimatedDelayFromRateLimitingInMilliseconds", inMillis(r.c.Op.Waited))
		b.BeginDoc("continuation")
		b.Bool("hasMore", false) // it was read to the end
		b.End()
	}
}

// cosmosShards prints what each partition did. Partitions are read side by side, so
// that the time of one is known only where it is alone.
func (r *report) cosmosShards(b *bson.Builder, ran bool) {
	b.BeginArray("shardInformation")
	for _, p := range r.trace.Parts {
		b.BeginDoc("")
		b.String("shardKeyRangeId", p.Shard.ID.String())
		if ran {
			tree := countersOf(p.Operator)
			if len(r.trace.Parts) == 1 {
				b.Double("durationMS", inMillis(r.took))
			}
			n, _ := tree.Get("nReturned").Int64()
			b.Int("outputDocumentCount", n)
			b.Int("retrievedDocumentCount", exec.SumOf(tree, "docsExamined"))
		}
		b.End()
	}
	b.End()
}

// cosmosMetrics prints the sums over all partitions. The hit ratio is that of the
// documents that were loaded; there is none where none was.
func (r *report) cosmosMetrics(b *bson.Builder) {
	var retrieved int64
	for _, p := range r.trace.Parts {
		retrieved += exec.SumOf(countersOf(p.Operator), "docsExamined")
	}
	b.BeginDoc("queryMetrics")
	b.Int("retrievedDocumentCount", retrieved)
	b.Int("outputDocumentCount", r.returned)
	if !r.x.Only {
		b.Int("outputDocumentSizeBytes", r.bytes)
	}
	if retrieved > 0 {
		b.Double("indexHitRatio", min(1, float64(r.returned)/float64(retrieved)))
	}
	b.Double("totalQueryExecutionTimeMS", inMillis(r.took))
	b.End()
}

// cosmosPaths prints the paths of the filter, by whether an index leads to them.
func (r *report) cosmosPaths(b *bson.Builder) {
	var paths []string
	if n, err := match.Parse(r.c.Env(), r.x.Find.Filter); err == nil { // else the read has told the error
		filterPaths(n, "", func(p string) {
			if p != "" && !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		})
	}
	for _, part := range []struct {
		name    string
		indexed bool
	}{{"pathsIndexed", true}, {"pathsNotIndexed", false}} {
		b.BeginArray(part.name)
		for _, p := range paths {
			if r.leadsTo(p, paths) == part.indexed {
				b.String("", p)
			}
		}
		b.End()
	}
}

// leadsTo reports an index by which the values of a path can be found in a filter
// of paths: one that begins with it or with others of the filter. A partial index
// counts where the plan uses it.
func (r *report) leadsTo(p string, paths []string) bool {
	if r.s.Coll == nil {
		return false
	}
	for _, ix := range r.s.Coll.Indexes {
		chosen := r.s.Solution != nil && r.s.Solution.Index == ix.Name
		if ix.State != catalog.IndexReady || ix.Hidden || ix.Partial != nil && !chosen {
			continue
		}
		if ix.Kind.Name == "wildcard" {
			if at, err := path.Compile(p); err == nil {
				if covered, _ := ix.WildcardCovers(at); covered {
					return true
				}
			}
			continue
		}
		for _, f := range ix.Fields() {
			if f == p {
				return true
			}
			if !slices.Contains(paths, f) {
				break
			}
		}
	}
	return false
}

// filterPaths reports the paths that a filter looks at, from the document's root.
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

// countersOf is the tree of stages with what they have counted.
func countersOf(op exec.Operator) bson.Raw {
	b := bson.NewBuilder(nil)
	op.Explain(b, true)
	return b.Doc()
}

// inMillis is a duration in milliseconds.
func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
