package shards

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
)

const (
	// reportDefault is the number of shapes in a request report, if the client requests no number.
	reportDefault = 20
	// topMax is the maximum length of a list of which a client can request the length.
	topMax = 1000
)

// getRequestReport runs {customAction: "GetRequestReport", collection: "c"}, which Azure Cosmos DB does not have: it
// reports the charges of commands by their shape, since the server started or since the last reset, the most
// expensive shape first. Without collection the report covers the database, on admin all databases. With history:
// true each shape has the minutes in which it ran, of the hour up to its last run. With values: true each has the filter
// of its costliest run, for users that may read the collection. Users that may see the operations of others get callers:
// the applications and users with most of the load and refusals. The sums cover all servers of the store. The fields
// account, the features that clients used and that an account of Azure Cosmos DB does not have, load, and ruOperators, the
// charge of operators since the start, which no shape and no partition includes, cover only the server that replies.
func (s *State) getRequestReport(c *command.Call, a *customArgs) error {
	if a.top == 0 {
		a.top = reportDefault
	}
	w := reportFilter{db: c.DB, coll: a.ns.Coll, one: a.hasColl, reset: a.reset, history: a.history}
	if c.DB == "admin" {
		w.db = ""
	}
	sum, incomplete, err := s.clusterReport(c.Ctx, &w)
	if err != nil {
		return err
	}
	b := c.Reply
	b.String("database", c.DB)
	if a.hasColl {
		b.String("collection", a.ns.Coll)
	}
	if !sum.since.IsZero() {
		b.DateTime("since", sum.since.UnixMilli())
	}
	b.Double("ruTotal", sum.total.Float())
	b.Double("ruOperators", c.Cluster.Budgets.OperatorCharge().Float())
	b.String("prices", c.Cluster.Budgets.PriceList().String())
	b.Int32("shapes", int32(sum.shapes))
	refused := ratelimit.LimitCounts{}
	for _, one := range sum.list {
		refused.Add(&one.refusedDocs)
	}
	appendRefusedBy(b, &refused)
	callers, now := c.Server.MaySeeCallers(c.ConnState.Login), c.Cluster.Now()
	watched := s.watched()
	b.BeginArray("requests")
	for _, one := range sum.list[:min(len(sum.list), int(a.top))] {
		b.BeginDoc("")
		appendRequest(c, b, one, sum.total, watched[one.text()])
		if a.values {
			one.prices.costliest.appendTo(b, c.Server.MaySeeValues(c.ConnState.Login, one.ns))
		}
		if callers {
			appendCallers(b, one, now)
		}
		if a.history {
			appendMinutes(b, one)
		}
		b.End()
	}
	b.End()
	cluster.AppendSkewed(b, "load", c.Cluster.Skewed(func(coll *catalog.Collection) bool { return w.matches(coll.Namespace) }))
	if callers {
		appendCollectionCallers(b, sum.list, now)
	}
	appendAccount(c, a.reset)
	appendIncomplete(b, incomplete)
	return nil
}

// appendAccount appends the features that clients of the Cosmos address have used on this server, and that the
// account does not have, with counts that include refused uses. reset removes the counts. Without such uses it
// appends nothing.
func appendAccount(c *command.Call, reset bool) {
	account := c.Server.Account
	uses := account.Uses()
	if reset {
		account.Forget()
	}
	if len(uses) == 0 {
		return
	}
	b := c.Reply
	b.BeginDoc("account")
	b.String("version", account.Version.String())
	if account.Capabilities != 0 {
		b.String("capabilities", account.Capabilities.String())
	}
	b.Bool("lenient", account.Lenient)
	b.BeginArray("refuses")
	for i := range uses[:min(len(uses), topMax)] {
		u := &uses[i]
		b.BeginDoc("")
		b.String("kind", u.Kind.String())
		b.String("name", u.Name)
		b.String("appName", u.App)
		b.Int64("count", u.Count)
		b.DateTime("last", u.Last)
		b.End()
	}
	b.End()
	b.End()
}

// appendRefusedBy appends the refused documents or statements by limit, if there are some.
func appendRefusedBy(b *bson.Builder, n *ratelimit.LimitCounts) {
	if n.Sum() == 0 {
		return
	}
	b.BeginDoc("throttledBy")
	for i, l := range ratelimit.Limits {
		if n[i] > 0 {
			b.Int64(string(l), n[i])
		}
	}
	b.End()
}

// appendFields appends the fields in the filter of a shape.
func (s *shape) appendFields(b *bson.Builder) {
	b.BeginArray("fields")
	for _, f := range s.fields {
		b.BeginDoc("")
		b.String("path", f.path)
		b.String("by", f.by)
		b.End()
	}
	b.End()
}

// watched returns the effects of the query settings that limit or refuse reads, by the text of the shape of their example.
func (s *State) watched() map[string][]string {
	list := map[string][]string{}
	s.Planner.WatchList(func(w command.Watch) {
		first, ok := w.Query.First()
		def := s.Lookup(string(first.Name))
		coll, isText := first.Value.Str()
		if db, named := w.Query.Get("$db").Str(); ok && isText && named && def != nil {
			text, _, _, _ := appendShapeOf(nil, collection.Namespace{DB: db, Coll: coll}, def, w.Query)
			list[string(text)] = append(list[string(text)], fmt.Sprintf("watched: the watch list (%s) %s", w.Kind, w.Text))
		}
	})
	return list
}

// appendRequest appends one shape. watched are warnings of the watch list.
func appendRequest(c *command.Call, b *bson.Builder, s *shape, total ratelimit.MicroRU, watched []string) {
	b.String("ns", s.ns.String())
	b.String("command", s.command)
	b.String("filter", s.filter)
	if s.sort != "" {
		b.String("sort", s.sort)
	}
	s.appendFields(b)
	runs := max(1, s.runs)
	average := s.charge / ratelimit.MicroRU(runs)
	b.Int64("count", s.runs)
	b.Double("ru", s.charge.Float())
	b.Double("ruAverage", average.Float())
	b.Double("ruMax", s.maxCharge.Float())
	if total > 0 {
		b.Double("ruPercent", float64(s.charge*1000/total)/10)
	}
	b.Double("millisAverage", float64(s.took.Microseconds()/runs)/1000)
	b.Double("millisP99", float64(s.times.quantile(0.99).Microseconds())/1000)
	b.Double("millisMax", float64(s.slowest.Microseconds())/1000)
	b.Double("documentsLoaded", float64(s.loaded*100/runs)/100)
	if s.visits > 0 {
		b.Double("partitionsVisited", float64(s.visited*100/s.visits)/100)
	}
	b.Int64("fanOuts", s.fanOuts)
	b.Int64("failed", s.failed)
	b.Int64("throttled", s.refused)
	b.Int64("throttledDocuments", s.refusedDocs.Sum())
	appendRefusedBy(b, &s.refusedDocs)
	command.AppendRunawayCounts(b, s.runaways, s.rejected)
	if !s.lastFanOut.IsZero() {
		b.DateTime("lastFanOut", s.lastFanOut.UnixMilli())
	}
	b.DateTime("last", s.last.UnixMilli())
	b.BeginArray("warnings")
	for _, w := range slices.Concat(shapeWarnings(c, s, average), watched) {
		b.String("", w)
	}
	b.End()
}

// appendMinutes appends the charge and the number of runs of a shape in each minute of the hour up to its last run,
// the oldest minute first. Minutes in which the shape did not run are left out.
func appendMinutes(b *bson.Builder, s *shape) {
	b.BeginArray("history")
	newest := int32(s.last.Unix() / 60)
	for at := newest - shapeMinutes + 1; at <= newest; at++ {
		m := &s.minutes[uint32(at)%shapeMinutes]
		if m.at != at {
			continue
		}
		b.BeginDoc("")
		b.Int64("at", int64(at)*60)
		b.Double("ru", float64(m.ru))
		b.Int64("count", int64(m.runs))
		b.Int64("throttled", int64(m.refused))
		b.End()
	}
	b.End()
}

// runawayWarning describes the runaway commands of a shape; "" for none.
func runawayWarning(s *shape) string {
	var parts []string
	for a, did := range [ratelimit.RunawayActions]string{"were stopped", "went on (dryRun)", "were cooled down", "switched their throughput bucket"} {
		if n := s.runaways[a]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s at their limit of request units", n, did))
		}
	}
	if s.rejected > 0 {
		parts = append(parts, fmt.Sprintf("%d were refused by query settings", s.rejected))
	}
	if parts == nil {
		return ""
	}
	return "runaway: " + strings.Join(parts, ", ")
}

// refusedWarning describes how much of a shape was refused for lack of request units.
func refusedWarning(s *shape) string {
	if n := s.refusedDocs.Sum(); n > s.refused {
		return fmt.Sprintf("refused: %d documents or statements in %d runs, because request units were used up", n, s.runs)
	}
	return fmt.Sprintf("refused: %d of %d runs, because request units were used up", s.refused, s.runs)
}

// shapeWarnings returns sentences that describe why the commands of a shape are expensive, and changes that would
// help. average is the charge of one run.
func shapeWarnings(c *command.Call, s *shape, average ratelimit.MicroRU) (out []string) {
	coll := c.Cluster.Catalog().Collection(s.ns)
	if s.fanOuts > 0 && coll != nil && coll.Sharded() {
		var missing []string
		for _, f := range coll.Key.Fields() {
			if !slices.ContainsFunc(s.fields, func(x filterField) bool { return x.path == f.Path.String() && (x.by == "equal" || x.by == "in") }) {
				missing = append(missing, f.Path.String())
			}
		}
		switch levels := coll.Key.Levels(); {
		case len(missing) == 1 && levels < len(coll.Key.Fields()) && missing[0] == coll.Key.Fields()[levels].Path.String():
			out = append(out, fmt.Sprintf("fan-out: %d of %d runs searched the buckets of a value on several of the %d partitions, for %s RU: with %s in the filter one partition would suffice",
				s.fanOuts, s.runs, s.partitions, s.fanOutCharge, missing[0]))
		case len(missing) > 0:
			out = append(out, fmt.Sprintf("fan-out: %d of %d runs visited several of the %d partitions, for %s RU: the filter does not specify the shard key field %s. "+
				"Add it to the query if the application has it; cantle advise compares other shard keys",
				s.fanOuts, s.runs, s.partitions, s.fanOutCharge, strings.Join(missing, ", ")))
		}
	}
	if text := runawayWarning(s); text != "" {
		out = append(out, text)
	}
	if s.refusedDocs.Sum() > 0 {
		out = append(out, refusedWarning(s))
	}
	if average > ratelimit.Expensive && s.command != "insert" { // the size of an insert is its client's, and explain refuses it
		why := "explain itemises the charge"
		if loaded := s.loaded / max(1, s.runs); loaded >= 200 {
			why = fmt.Sprintf("it loads %d documents each time; an index on the fields of its filter would load fewer", loaded)
		}
		out = append(out, fmt.Sprintf("expensive: %s RU on average; %s", average, why))
	}
	return out
}
