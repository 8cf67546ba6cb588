package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/shard/skew"
)

const partitionsHelp = `Shows the size and the load of every partition of a collection, and the values that cause
the load, to find a hot partition. URI is a connection string such as
mongodb://127.0.0.1:27017/.

  share         the partition's share of the RU/s; "-" is unlimited
  last s, min   RU used in the last complete second, and in the last minute
  busy          its busiest second of the last minute, in percent of its share: at
                100% it refuses requests while others may be idle
  refused       requests refused in the last minute, and since the server started

Below the table are the most expensive shard key values. If one of them causes most of a
busy partition's load, more RU/s will not help much: use a shard key with more distinct
values. If the RU are spread evenly over many values, raise the throughput.

Then follow the RU/s that the collection could have without a split, what would be in the
way of more, and the changes of RU/s that are planned (PrepareThroughput,
ScheduleThroughput).
`

// partitionsTopMax is the maximum of --top.
const partitionsTopMax = 64

func partitionsVerb(f *pflag.FlagSet) action {
	top := f.Int("top", 10, "`number` of the most expensive shard key values to show, 0 for none")
	limit := f.Duration("timeout", 10*time.Second, "maximum time to wait for an answer")
	asJSON := jsonFlag(f)
	return func(ctx context.Context, s Streams) error {
		db, coll, ok := namespaceOf(f.Arg(1))
		if f.NArg() != 2 || !ok {
			return usageErrorf("expected a connection string and database.collection, as in\n\n  cantle partitions mongodb://127.0.0.1:27017/ test.orders")
		}
		if *top < 0 || *top > partitionsTopMax {
			return usageErrorf("--top is from 0 to %d", partitionsTopMax)
		}
		ctx, cancel := context.WithTimeout(ctx, *limit)
		defer cancel()
		reply, err := runOnce(ctx, f.Arg(0), "cantle partitions", db, bson.D{
			{"customAction", "GetPartitions"}, {"collection", coll}, {"top", int32(max(1, *top))},
		}.Doc(), s.Err)
		if err != nil {
			return err
		}
		if *asJSON {
			printJSON(s.Out, ownFields(reply))
		} else {
			printPartitions(s.Out, reply, *top)
			if is, err := runOnce(ctx, f.Arg(0), "cantle partitions", db, bson.D{
				{"customAction", "GetCollection"}, {"collection", coll}, {"showCapacity", true},
			}.Doc(), s.Err); err == nil { // an older server does not have the argument
				printCapacity(s.Out, is)
				printPlanned(s.Out, is)
			}
		}
		return nil
	}
}

func printPartitions(out io.Writer, reply bson.Raw, top int) {
	db, _ := reply.Get("database").Str()
	coll, _ := reply.Get("collection").Str()
	fmt.Fprintf(out, "%s.%s", db, coll)
	if key, ok := reply.Get("shardKeyDefinition").Doc(); ok {
		fmt.Fprintf(out, "  shard key %s", ejson.String(key))
	} else {
		fmt.Fprint(out, "  not sharded: one partition")
	}
	fmt.Fprint(out, "\n\n")
	t := columns.Table{}
	t.Row("partition", "from", "to", " documents", " size", " share", " last s", " last min", " busy", " refused min", " refused")
	list, _ := reply.Get("partitions").Array()
	hottest, heat := "", 0.0
	for it := list.Iter(); it.Next(); {
		p, _ := it.Value.Doc()
		id, _ := p.Get("id").Str()
		if !p.Get("settled").Truthy() {
			id += "*"
		}
		share := "-"
		if f, ok := p.Get("throughput").AsFloat(); ok {
			share = columns.Amount(f)
		}
		if ru := float(p, "ruLastMinute"); ru > heat {
			hottest, heat = id, ru
		}
		t.Row(id, bound(p, "min"), bound(p, "max"), fmt.Sprint(whole(p, "documents")), columns.Size(whole(p, "bytes")), share,
			columns.Amount(float(p, "ruLastSecond")), columns.Amount(float(p, "ruLastMinute")), fmt.Sprintf("%d%%", whole(p, "normalizedPercent")),
			fmt.Sprint(whole(p, "throttledLastMinute")), fmt.Sprint(whole(p, "throttled")))
	}
	t.Print(out)
	if strings.Contains(fmt.Sprint(t.Rows), "*") {
		fmt.Fprintln(out, "* is completing a split or merge")
	}
	load, _ := reply.Get("load").Doc()
	kind, _ := load.Get("kind").Str()
	if text, _ := load.Get("text").Str(); skew.Kind(kind).Strained() {
		fmt.Fprintf(out, "\nin the last minute: %s\n", text)
	} else if hottest != "" && len(t.Rows) > 2 {
		fmt.Fprintf(out, "\npartition %s was the busiest of the last minute\n", hottest)
	}
	printIncomplete(out, reply)
	warnings, _ := reply.Get("warnings").Array()
	for w := range warnings.Values() {
		text, _ := w.Str()
		fmt.Fprintf(out, "\nwarning: %s\n", text)
	}
	if top > 0 {
		printHot(out, list, top)
	}
}

// printIncomplete prints the servers that did not answer, and whose data is missing from a result over all servers.
func printIncomplete(out io.Writer, reply bson.Raw) {
	list, _ := reply.Get("incomplete").Array()
	for v := range list.Values() {
		fmt.Fprintf(out, "\nincomplete: server %s did not answer, its data is missing\n", v)
	}
}

// hotKey is a shard key value with much of the load or the data, and its cost or size.
type hotKey struct {
	partition, value string
	weight           float64
}

// printHot prints two tables of shard key values over all partitions, each with at most top values: those with the most
// RU, and those with the most bytes.
func printHot(out io.Writer, list bson.Raw, top int) {
	for _, by := range []struct {
		field, unit, title string
		show               func(float64) string
	}{
		{"hottestByRU", "ru", "shard key values by RU", columns.Amount},
		{"hottestByBytes", "bytes", "shard key values by bytes", func(n float64) string { return columns.Size(int64(n)) }},
	} {
		var keys []hotKey
		shown := true
		for it := list.Iter(); it.Next(); {
			p, _ := it.Value.Doc()
			id, _ := p.Get("id").Str()
			hot, _ := p.Get(by.field).Array()
			for k := hot.Iter(); k.Next(); {
				d, _ := k.Value.Doc()
				value := "-"
				if v := d.Get("key"); v.IsMissing() {
					shown = false
				} else {
					value = columns.Clip(ejson.ValueString(v), 60)
				}
				keys = append(keys, hotKey{id, value, float(d, by.unit)})
			}
		}
		if len(keys) == 0 {
			continue
		}
		slices.SortStableFunc(keys, func(a, b hotKey) int { return cmp.Compare(b.weight, a.weight) })
		t := columns.Table{}
		t.Row("partition", "value", " "+by.unit)
		for _, k := range keys[:min(top, len(keys))] {
			t.Row(k.partition, k.value, by.show(k.weight))
		}
		fmt.Fprintf(out, "\n%s\n\n", by.title)
		t.Print(out)
		if !shown {
			fmt.Fprintln(out, "values are shown only to users who may read the documents: log in as a user with the role read")
		}
	}
}

// bound returns the text of the lower or upper end of a partition's key range: that of its first field, "min" or "max"
// for an open end, "-" if the reply p has no bound.
func bound(p bson.Raw, name string) string {
	d, ok := p.Get(name).Doc()
	if !ok {
		return "-"
	}
	first, ok := d.First()
	switch {
	case !ok:
		return "-"
	case first.Value.Type == bson.TypeMinKey:
		return "min"
	case first.Value.Type == bson.TypeMaxKey:
		return "max"
	}
	return columns.Clip(ejson.ValueString(first.Value), 24)
}

func float(d bson.Raw, name string) float64 { f, _ := d.Get(name).AsFloat(); return f }

func whole(d bson.Raw, name string) int64 { n, _ := d.Get(name).AsInt64(); return n }
