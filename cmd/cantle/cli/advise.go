package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/progress"
	"github.com/cantledb/cantle/cmd/cantle/shardkeys"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

const adviseHelp = `Reads the documents of a collection and the queries that the server has recorded for it,
and ranks candidate shard keys. Nothing is changed. For users with the role clusterMonitor
the scan takes no request units from the collection; for others it runs at low priority:
when request units run short, other requests go first, and the scan waits.

  score      from 0 to 100: how evenly documents and recent writes spread, and how many
             of the recorded requests would visit one partition only
  distinct   number of values of the key; too few leave partitions empty
  largest    share of the bytes of the largest value. A value cannot be divided over
             partitions, and can have at most 20 GB
  bytes      largest of the simulated partitions compared with the average: x1 is even
  recent     the same for the newest tenth of the documents: shows how one hot value
             (today's date) loads its partition
  targeted   share of the recorded requests, by RU, that specify the key, so that one
             partition answers them; "-" if none were recorded. A refused request counts
             at the average of its shape. If inserts have most of the RU, the score
             depends more on how recent writes spread
  RU/s       that the recorded requests would need on this number of partitions, in
             percent of the best key
  reach      maximum RU/s that the key can use before its hottest partition refuses

Keys of two fields are hierarchical: both are hashed, and a query that specifies only the
first still visits few partitions. "day + vin/40" is a synthetic key: the value of day
with one of 40 suffixes that the server computes from vin; with "day + random/40" the
suffix is random.
`

// adviseArgs are the flags of advise.
type adviseArgs struct {
	sample     int64
	partitions int
	top        int
	queries    []string
	fields     string
	json       bool

	given []shardkeys.Request // the queries, parsed
}

// check checks the flags, and parses the queries.
func (a *adviseArgs) check(ctx context.Context) error {
	if a.sample < 1 || a.top < 1 || a.partitions < 2 || a.partitions > shardkeys.PositionBuckets {
		return fmt.Errorf("--sample and --top are at least 1, --partitions is from 2 to %d", shardkeys.PositionBuckets)
	}
	for name := range strings.SplitSeq(a.fields, ",") {
		if strings.HasPrefix(strings.TrimSpace(name), "$") {
			return fmt.Errorf("--fields: %q is not the name of a field", name)
		}
	}
	for _, q := range a.queries {
		r, err := parseQuery(ctx, q)
		if err != nil {
			return fmt.Errorf("--query %s: %w", q, err)
		}
		a.given = append(a.given, r)
	}
	return nil
}

func adviseVerb(f *pflag.FlagSet) action {
	var a adviseArgs
	f.Int64Var(&a.sample, "sample", 200_000, "maximum `number` of documents to read, a random sample if there are more")
	f.IntVar(&a.partitions, "partitions", 10, "`number` of partitions to simulate")
	f.IntVar(&a.top, "top", 10, "`number` of keys to list")
	f.StringArrayVar(&a.queries, "query", nil, "a `filter` that the application will use, such as '{device: 1, at: {$gt: 2}}', in addition to the recorded ones; may be repeated")
	f.StringVar(&a.fields, "fields", "", "comma-separated `fields` to consider; by default all that are suitable")
	asJSON := jsonFlag(f)
	limit := f.Duration("timeout", 10*time.Minute, "maximum time to read documents")
	return func(ctx context.Context, s Streams) error {
		a.json = *asJSON
		db, coll, ok := namespaceOf(f.Arg(1))
		if err := a.check(ctx); err != nil {
			return usageError{err}
		}
		if f.NArg() != 2 || !ok {
			return usageErrorf("expected a connection string and database.collection, as in\n\n  cantle advise mongodb://127.0.0.1:27017/ test.orders")
		}
		ctx, cancel := context.WithTimeout(ctx, *limit)
		defer cancel()
		t, err := newTransfer(f.Arg(0), "cantle advise", onOne)
		if err != nil {
			return err
		}
		defer t.end()
		t.waits.showOn(s.Err)
		return t.advise(mongo.NewSessionContext(ctx, t.session), db, coll, &a, s.Out, s.Err)
	}
}

// advise runs the verb: it ranks the possible shard keys of a collection, and prints the ranking to out.
// Errors: errors of the server; a collection without documents.
func (s *server) advise(ctx context.Context, db, coll string, a *adviseArgs, out, errs io.Writer) error {
	requests, incomplete, err := s.requests(ctx, db, coll)
	if err != nil {
		return err
	}
	requests = append(requests, a.given...)
	now, err := s.runCommand(ctx, db, bson.D{{"customAction", "GetPartitions"}, {"collection", coll}}.Doc())
	if err != nil {
		return err
	}
	d := shardkeys.NewDocuments(a.fields)
	if err := s.scan(ctx, db, coll, a, now, d, errs); err != nil {
		return err
	}
	if d.Seen == 0 {
		return fmt.Errorf("%s.%s has no documents to analyse; cantle estimate works with a sample document", db, coll)
	}
	if d.Seen < shardkeys.DocumentsLeast {
		return fmt.Errorf("%s.%s has %s, too few to rank shard keys (at least %d); cantle estimate works with a sample document",
			db, coll, columns.Plural(int(d.Seen), "document"), shardkeys.DocumentsLeast)
	}
	r := shardkeys.Ranking{Given: len(a.given), Prices: pricesOf(incomplete), DB: db, Coll: coll, Partitions: a.partitions, Top: a.top, Docs: d, Requests: requests, Current: now}
	r.Rank()
	if a.json {
		printJSON(out, r.JSON())
		return nil
	}
	r.Print(out)
	printCallers(out, incomplete)
	printIncomplete(out, incomplete)
	return nil
}

// pricesOf returns the price list that a server's reply names, or the normative list if this program does not have
// that one.
func pricesOf(reply bson.Raw) *ratelimit.PriceList {
	name, _ := reply.Get("prices").Str()
	if list := ratelimit.FindPriceList(name); list != nil {
		return list
	}
	return ratelimit.Normative()
}

// requests returns the request shapes that the server has recorded for a collection, at most 1000, with their number
// and cost, and the server's reply.
func (s *server) requests(ctx context.Context, db, coll string) (out []shardkeys.Request, reply bson.Raw, err error) {
	reply, err = s.runCommand(ctx, db, bson.D{{"customAction", "GetRequestReport"}, {"collection", coll}, {"top", 1000}}.Doc())
	if err != nil {
		return nil, nil, err
	}
	list, _ := reply.Get("requests").Array()
	for it := list.Iter(); it.Next(); {
		d, _ := it.Value.Doc()
		r := shardkeys.Request{Count: whole(d, "count"), Refused: whole(d, "throttled"), RU: float(d, "ru"), Visited: max(1, float(d, "partitionsVisited"))}
		r.Command, _ = d.Get("command").Str()
		fields, _ := d.Get("fields").Array()
		for v := range fields.Values() {
			x, _ := v.Doc()
			by, _ := x.Get("by").Str()
			path, _ := x.Get("path").Str()
			if by == "equal" || by == "in" {
				r.Fixed = append(r.Fixed, path)
			}
		}
		if r.Count > 0 {
			out = append(out, r)
		}
	}
	return out, reply, nil
}

// parseQuery parses the value of --query, a filter in Extended JSON, and returns it as a find that runs once and costs
// 3 RU on one partition. Fixed has the fields that the filter, and each filter in its $and, compares for equality or by
// $in, but not those that it compares with a regular expression.
// Errors: a text that is not a document; a filter that a server refuses.
func parseQuery(ctx context.Context, text string) (shardkeys.Request, error) {
	doc, err := ejson.Parse(text)
	if err == nil {
		_, err = match.Parse(mql.NewEnv(ctx), doc)
	}
	if err != nil {
		return shardkeys.Request{}, err
	}
	return shardkeys.Request{Command: "find", Fixed: fixedFields(nil, doc), Count: 1, RU: 3, Visited: 1}, nil
}

// fixedFields appends to out the fields that Fixed of parseQuery has for a filter, each once.
func fixedFields(out []string, filter bson.Raw) []string {
	for it := filter.Iter(); it.Next(); {
		switch name := string(it.Name); {
		case name == "$and":
			list, _ := it.Value.Array()
			for v := range list.Values() {
				inner, _ := v.Doc()
				out = fixedFields(out, inner)
			}
		case !strings.HasPrefix(name, "$") && fixes(it.Value) && !slices.Contains(out, name):
			out = append(out, name)
		}
	}
	return out
}

// fixes reports whether the condition on a field of a filter, a value or operators, compares for equality, or by $in
// without a regular expression.
func fixes(condition bson.Value) bool {
	operators, isDoc := condition.Doc()
	first, _ := operators.First()
	if !isDoc || !strings.HasPrefix(string(first.Name), "$") {
		return condition.Type != bson.TypeRegex
	}
	for name, v := range operators.Fields() {
		switch string(name) {
		case "$eq":
			return true
		case "$in":
			list, _ := v.Array()
			pattern := false
			for x := range list.Values() {
				pattern = pattern || x.Type == bson.TypeRegex
			}
			if !pattern {
				return true
			}
		}
	}
	return false
}

// scan reads every document of a collection, or a random sample if the collection has more than a.sample documents,
// and adds each to the statistics d.
func (s *server) scan(ctx context.Context, db, coll string, a *adviseArgs, partitions bson.Raw, d *shardkeys.Documents, errs io.Writer) error {
	list, _ := partitions.Get("partitions").Array()
	for it := list.Iter(); it.Next(); {
		p, _ := it.Value.Doc()
		d.Stored += whole(p, "documents")
		d.StoredBytes += whole(p, "bytes")
	}
	pipeline := bson.A{}
	if d.Stored > a.sample {
		pipeline = bson.A{bson.D{{"$sample", bson.D{{"size", a.sample}}}}}
	}
	command := bson.D{{"aggregate", coll}, {"pipeline", pipeline}, {"cursor", bson.D{{"batchSize", scanBatch}}}, {"allowDiskUse", true},
		{"comment", bson.D{{"priority", "operator"}}}}.Doc()
	p := progress.Show(errs, "documents", min(d.Stored, a.sample))
	defer p.End()
	take := func(doc bson.Raw) bool {
		d.Add(doc)
		p.At(d.Seen)
		return d.Seen < a.sample
	}
	if s.waits != nil {
		s.waits.showBy(p.Logf)
	}
	err := s.eachDocument(ctx, db, coll, command, take)
	if errors.As(err, new(*refusedError)) {
		return fmt.Errorf("the user may not read the documents of %s.%s: grant it the role read on the database %[1]s", db, coll)
	}
	return err
}

// scanBatch is the number of documents in each reply while cantle advise scans a collection.
const scanBatch = 1000
