package workload

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/shardkeys"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
)

// Workload is a number of operations per second on documents that are all like one sample. Its fields are set before
// Prepare.
type Workload struct {
	Reads, Queries, FanOuts, Inserts, Updates, Deletes float64  // per second
	PerQuery, Documents                                int64    // documents per query, and documents in all
	PartitionRU, PartitionGB                           int64    // of one partition; 0 RU/s are those of Azure Cosmos DB
	Changed                                            []string // fields that an update changes
	Prices                                             *ratelimit.PriceList
	Buckets                                            int // of the shard key's suffix, 0 without

	bytes   int64
	sharded bool
	terms   int64 // index weight of one document
	moved   int64 // the part of terms that an update removes and adds again
	entries int64
	stored  int64 // bytes of one document with its index entries
}

// Prepare computes the sizes that prices depend on: those of the sample document doc and of its index entries. key is
// the shard key, indexes are the keys or the whole specifications of the indexes.
// Errors: a bad shard key, index or field; a document that the indexes refuse.
func (p *Workload) Prepare(ctx context.Context, doc bson.Raw, key string, indexes []string) error {
	p.bytes, p.stored = int64(len(doc)), int64(len(doc))
	prices := p.Prices
	id := keystring.Append(nil, doc.Get("_id"), keystring.Ascending, nil, nil)
	p.terms = prices.TermWeight(len(id))
	if key != "" && key != "_id" {
		spec := bson.D{{key, "hashed"}}.Doc()
		var err error
		if p.Buckets > 0 {
			spec, err = shard.WithSuffix(spec, shardkeys.SuffixSpec("_id", p.Buckets))
		}
		var pattern shard.KeyPattern
		if err == nil {
			pattern, err = shard.ParseKeyPattern(spec)
		}
		if err != nil {
			return fmt.Errorf("--shard-key %s: %w", key, err)
		}
		if _, missing := pattern.Missing(doc); missing {
			return noField("shard-key", key, key, doc)
		}
		p.terms += prices.TermWeight(len(pattern.AppendLogical(nil, doc)))
	}
	p.sharded = key != ""
	changed, err := changedPaths(p.Changed, doc)
	if err != nil {
		return err
	}
	env := mql.NewEnv(ctx)
	for _, text := range indexes {
		spec, err := parseIndex(env, text)
		if err != nil {
			return fmt.Errorf("--index %s: %w", text, err)
		}
		if name := missingField(spec, doc); name != "" {
			return noField("index", text, name, doc)
		}
		var scratch expr.Scratch
		weight := int64(0)
		_, err = spec.Keys(env, doc, &scratch, func(values, _ []byte) error {
			weight += max(prices.TermWeight(len(values)), int64(spec.About()))
			p.stored += int64(len(values) + len(id))
			p.entries++
			return nil
		})
		if err != nil {
			return fmt.Errorf("--index %s: %w", text, err)
		}
		p.terms += weight
		if slices.ContainsFunc(changed, spec.Touched) {
			p.moved += weight
		}
	}
	return nil
}

// changedPaths returns the paths of --update-fields.
// Errors: a bad path; one that the sample document does not have.
func changedPaths(names []string, doc bson.Raw) (out []path.Path, err error) {
	for _, name := range names {
		at, err := path.Compile(name)
		if err != nil {
			return nil, fmt.Errorf("--update-fields %s: %w", name, err)
		}
		if !hasField(doc, at) {
			return nil, noField("update-fields", name, name, doc)
		}
		out = append(out, at)
	}
	return out, nil
}

// noField returns the error of a flag that names a field which the sample document does not have: without a value, the
// estimate would leave out the cost of its index entries.
func noField(flag, value, name string, doc bson.Raw) error {
	return fmt.Errorf("--%s %s: the sample document has no field %s; its fields are %s", flag, value, name, strings.Join(fieldNames(doc), ", "))
}

// missingField returns the first field of an index that the sample document does not have, "" if it has all. The part of
// a wildcard behind its prefix may be missing, and _ts, which a server of the Cosmos address adds.
func missingField(spec *index.Spec, doc bson.Raw) string {
	for name := range spec.Key.Fields() {
		name := strings.TrimSuffix(strings.TrimSuffix(string(name), "$**"), ".")
		if name == "" || name == "_ts" || strings.HasPrefix(name, "_fts") {
			continue
		}
		if at, err := path.Compile(name); err != nil || !hasField(doc, at) {
			return name
		}
	}
	return ""
}

// hasField reports whether a document has a value at a path, also in an array.
func hasField(doc bson.Raw, at path.Path) bool {
	return !at.Walk(doc, path.Traverse, func(v bson.Value, _ []int32) bool { return v.IsMissing() })
}

// CheckRates reports a rate or another number that is negative or not finite, by the name of its flag.
func (p *Workload) CheckRates() error {
	for _, x := range []struct {
		flag string
		n    float64
	}{{"reads", p.Reads}, {"queries", p.Queries}, {"fan-outs", p.FanOuts}, {"inserts", p.Inserts}, {"updates", p.Updates}, {"deletes", p.Deletes},
		{"query-documents", float64(p.PerQuery)}, {"documents", float64(p.Documents)}, {"partition-ru", float64(p.PartitionRU)},
		{"partition-gb", float64(p.PartitionGB)}, {"buckets", float64(p.Buckets)}} {
		if !(x.n >= 0) || math.IsInf(x.n, 1) {
			return fmt.Errorf("--%s is a number from 0, not %v", x.flag, x.n)
		}
	}
	return nil
}

// fieldNames returns the names of a document's fields, at most 20.
func fieldNames(doc bson.Raw) (out []string) {
	for name := range doc.Fields() {
		if len(out) == 20 {
			return append(out, "…")
		}
		out = append(out, string(name))
	}
	return out
}

// parseIndex reads keys alone or a whole specification.
func parseIndex(env *mql.Env, text string) (*index.Spec, error) {
	doc, err := ejson.Parse(text)
	if err != nil {
		return nil, err
	}
	key, whole := doc.Get("key").Doc()
	if !whole {
		key = doc
	}
	b := bson.NewBuilder(nil)
	if whole {
		b.Splice(doc.Elements())
	} else {
		b.Raw("key", key)
	}
	if _, named := doc.Lookup("name"); !whole || !named {
		b.String("name", index.DefaultName(key))
	}
	return index.ParseSpec(env, b.Doc())
}

// Operation is one line of the estimate.
type Operation struct {
	Name   string
	Charge ratelimit.MicroRU
	Rate   float64 // per second
}

// Operations prices the workload on a number of partitions.
func (p *Workload) Operations(partitions int) []Operation {
	measure := func(work func(m *ratelimit.Meter)) ratelimit.MicroRU {
		var m ratelimit.Meter
		m.SetPrices(p.Prices)
		work(&m)
		return m.Total()
	}
	size := int(p.bytes)
	query := func(partitions int) ratelimit.MicroRU {
		return measure(func(m *ratelimit.Meter) {
			for i := range partitions {
				m.Visit(i, 1)
			}
			m.Add(0, ratelimit.DocLoaded, p.PerQuery)
			m.Add(0, ratelimit.LoadedByte, p.PerQuery*p.bytes)
			m.Add(0, ratelimit.ResultSet, min(int64(partitions), p.PerQuery)) // at most one document per partition
			m.Add(0, ratelimit.ByteReturned, p.PerQuery*p.bytes)
		})
	}
	fanOut, visits := "query, all partitions", partitions
	if p.Buckets > 0 {
		fanOut, visits = "query, all buckets", min(partitions, p.Buckets)
	}
	return []Operation{
		{"read by key", measure(func(m *ratelimit.Meter) { m.PointRead(0, size) }), p.Reads},
		{"query, one partition", query(1), p.Queries},
		{fanOut, query(visits), p.FanOuts},
		{"insert", measure(func(m *ratelimit.Meter) { m.WriteNew(0, size); m.Terms(0, p.terms, 0) }), p.Inserts},
		{"update by key", measure(func(m *ratelimit.Meter) {
			m.Replaced(0, size)
			m.WriteNew(0, size)
			m.Terms(0, p.moved, p.moved)
		}), p.Updates},
		{"delete by key", measure(func(m *ratelimit.Meter) { m.WriteOld(0, size); m.Terms(0, 0, p.terms) }), p.Deletes},
	}
}

// solve computes the number of partitions that the workload needs, and with it the operations and the RU/s of all. It
// iterates, because fan-outs cost more with more partitions, which may require further partitions.
func (p *Workload) solve() (ops []Operation, rus float64, partitions int) {
	gb := float64(p.stored) * float64(p.Documents) / (1 << 30)
	partitions = max(1, int(math.Ceil(gb/float64(max(1, p.PartitionGB)))))
	for range 64 {
		ops, rus = p.Operations(partitions), 0
		for _, o := range ops {
			rus += o.Charge.Float() * o.Rate
		}
		need := shard.Count(int64(math.Ceil(rus)), ratelimit.FirstShardRate(ratelimit.Manual, p.PartitionRU))
		if need <= partitions || !p.sharded || partitions >= shard.ShardsMax {
			break
		}
		partitions = min(need, shard.ShardsMax)
	}
	return ops, rus, partitions
}

// Print prints the operations with their charges, the throughput to provision, and the number of partitions.
func (p *Workload) Print(out io.Writer) {
	ops, rus, partitions := p.solve()
	entries := "entries"
	if p.entries == 1 {
		entries = "entry"
	}
	fmt.Fprintf(out, "document    %d bytes, %d secondary index %s\nprices      %s\n\n", p.bytes, p.entries, entries, p.Prices)
	t := columns.Table{}
	t.Row("operation", " RU each", " per second", " RU/s")
	for _, o := range ops {
		t.Row(o.Name, fmt.Sprintf("%.2f", o.Charge.Float()), columns.Amount(o.Rate), columns.Amount(o.Charge.Float()*o.Rate))
	}
	t.Row("together", "", "", columns.Amount(rus))
	t.Print(out)
	manual, autoscale := p.offers(rus)
	fmt.Fprintf(out, "\nprovision   offerThroughput: %d, or autoScaleSettings: {maxThroughput: %d}\n", manual, autoscale)
	if p.Documents > 0 {
		fmt.Fprintf(out, "storage     %s with indexes\n", columns.Size(p.stored*p.Documents))
	}
	fmt.Fprintf(out, "partitions  %d, of %s RU/s each if the shard key spreads the load evenly\n", partitions, columns.Amount(math.Floor(float64(manual)/float64(partitions))))
	switch {
	case !p.sharded && (manual > ratelimit.UnshardedMax || p.gigabytes() > float64(p.PartitionGB)):
		fmt.Fprintf(out, "\nThis exceeds the maximum of one partition: set --shard-key.\n")
	case p.FanOuts > 0 && partitions > 1:
		_, over, _ := strings.Cut(ops[2].Name, ", ")
		whole := "the shard key"
		if p.Buckets > 0 {
			whole = "the suffix's field"
		}
		fmt.Fprintf(out, "\nQueries over %s cost %.1f times as much as with %s in their filter.\n",
			over, ops[2].Charge.Float()/ops[1].Charge.Float(), whole)
	}
}

// gigabytes returns the size of all documents with their index entries.
func (p *Workload) gigabytes() float64 { return float64(p.stored) * float64(p.Documents) / (1 << 30) }

// offers returns the manual and the autoscale throughput to provision for a number of RU/s.
func (p *Workload) offers(rus float64) (manual, autoscale int64) {
	load := ratelimit.Load{StoredGB: int64(math.Ceil(p.gigabytes()))}
	need := int64(math.Ceil(rus))
	return max(ratelimit.MinManual(load), roundTo(need, ratelimit.ManualStep)), max(ratelimit.MinAutoscale(load), roundTo(need, ratelimit.AutoscaleStep))
}

func roundTo(n, step int64) int64 { return (n + step - 1) / step * step }
