package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
)

const reportHelp = `Shows the cost of commands by their shape (command, collection, filter and sort, without
values) since the server started or the last --reset, the most expensive first.

  RU, share     request units of all runs together, and their share of the total
  each, most    RU of one run on average, and of the most expensive run
  loaded        documents that a run examines; if many more than it returns, it needs an index
  parts         partitions that a run visits: 1 if its filter specifies the shard key
  fan-outs      runs that visited several partitions
  refused       documents or statements that were refused because request units were used up

If there were refusals, a line below counts them by the limit that refused: partition,
database, bucket, priority, queue, injected, as in errInfo.throttle.

A second table has the applications (appName), drivers and users with most of the recent RU
and refusals, to users that may see them (clusterMonitor): RU and refused since they are
among those, and the share of the recent RU, in which a request of 15 minutes ago has half
of its weight.

Below the tables are the collections that had a hot partition, were at their limit or refused
requests in the last minute. A last table lists features that clients used at the Cosmos
address and that an Azure Cosmos DB account refuses, with their counts and applications
(appName).
`

func reportVerb(f *pflag.FlagSet) action {
	top := f.Int("top", 20, "`number` of shapes to show")
	reset := f.Bool("reset", false, "reset the report after printing it")
	limit := f.Duration("timeout", 10*time.Second, "maximum time to wait for an answer")
	asJSON := jsonFlag(f)
	return func(ctx context.Context, s Streams) error {
		if *top < 1 || *top > 1000 {
			return usageErrorf("--top is from 1 to 1000")
		}
		if f.NArg() < 1 || f.NArg() > 2 {
			return usageErrorf("expected a connection string and perhaps a database or database.collection, as in\n\n  cantle report mongodb://127.0.0.1:27017/ test.orders")
		}
		db, coll, _ := strings.Cut(f.Arg(1), ".")
		if db == "" {
			db = "admin"
		}
		ctx, cancel := context.WithTimeout(ctx, *limit)
		defer cancel()
		command := bson.D{{"customAction", "GetRequestReport"}, {"top", int32(*top)}}
		if coll != "" {
			command = append(command, bson.E{"collection", coll})
		}
		command = append(command, bson.E{"reset", *reset})
		reply, err := runOnce(ctx, f.Arg(0), "cantle report", db, command.Doc(), s.Err)
		if err != nil {
			return err
		}
		if list, _ := reply.Get("requests").Array(); list.IsEmpty() && coll != "" {
			if err := checkCollection(ctx, f.Arg(0), "cantle report", db, coll); err != nil {
				return err
			}
		}
		if *asJSON {
			printJSON(s.Out, ownFields(reply))
		} else {
			printReport(s.Out, reply)
		}
		return nil
	}
}

func printReport(out io.Writer, reply bson.Raw) {
	defer printIncomplete(out, reply)
	printShapes(out, reply)
	printCallers(out, reply)
	printLoads(out, reply)
	printRefusals(out, reply)
}

// printLoads prints the collections of a report that had a hot partition, were at their limit or refused requests in
// the last minute.
func printLoads(out io.Writer, reply bson.Raw) {
	list, _ := reply.Get("load").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		ns, _ := d.Get("ns").Str()
		text, _ := d.Get("text").Str()
		fmt.Fprintf(out, "\n%s in the last minute: %s\n", ns, text)
	}
}

// printRefusals prints the features that clients used through the Cosmos address and that an account of Azure Cosmos
// DB does not have.
func printRefusals(out io.Writer, reply bson.Raw) {
	account, _ := reply.Get("account").Doc()
	list, _ := account.Get("refuses").Array()
	if list.IsEmpty() {
		return
	}
	version, _ := account.Get("version").Str()
	how := "and this server refused"
	if account.Get("lenient").Truthy() {
		how = "and this server accepted (--cosmos-lenient)"
	}
	fmt.Fprintf(out, "\nFeatures that an Azure Cosmos DB for MongoDB %s account refuses, %s:\n", version, how)
	t := columns.Table{}
	t.Row(" times", "feature", "of", "application", "last")
	for v := range list.Values() {
		d, _ := v.Doc()
		name, _ := d.Get("name").Str()
		kind, _ := d.Get("kind").Str()
		app, _ := d.Get("appName").Str()
		if app == "" {
			app = "-"
		}
		ms, _ := d.Get("last").DateTime()
		t.Row(fmt.Sprint(whole(d, "count")), name, kind, app, time.UnixMilli(ms).UTC().Format(time.DateTime+" MST"))
	}
	t.Print(out)
}

func printShapes(out io.Writer, reply bson.Raw) {
	list, _ := reply.Get("requests").Array()
	if list.Len() == 0 {
		fmt.Fprintln(out, "no commands have been recorded yet")
		return
	}
	t := columns.Table{}
	t.Row(" RU", " share", " runs", " each", " most", " ms", " loaded", " parts", " fan-outs", " refused", "command", "collection", "filter and sort")
	var notes []string
	for it := list.Iter(); it.Next(); {
		d, _ := it.Value.Doc()
		ns, _ := d.Get("ns").Str()
		command, _ := d.Get("command").Str()
		shape, _ := d.Get("filter").Str()
		if sort, ok := d.Get("sort").Str(); ok {
			shape += " " + sort
		}
		parts := "-"
		if v, ok := d.Get("partitionsVisited").AsFloat(); ok {
			parts = columns.Amount(v)
		}
		t.Row(columns.Amount(float(d, "ru")), fmt.Sprintf("%.1f%%", float(d, "ruPercent")), fmt.Sprint(whole(d, "count")), columns.Amount(float(d, "ruAverage")),
			columns.Amount(float(d, "ruMax")), columns.Amount(float(d, "millisAverage")), columns.Amount(float(d, "documentsLoaded")), parts,
			fmt.Sprint(whole(d, "fanOuts")), fmt.Sprint(max(whole(d, "throttled"), whole(d, "throttledDocuments"))), command, ns, columns.Clip(shape, 80))
		warnings, _ := d.Get("warnings").Array()
		for w := range warnings.Values() {
			text, _ := w.Str()
			notes = append(notes, fmt.Sprintf("%s %s %s\n  %s", command, ns, columns.Clip(shape, 80), text))
		}
	}
	t.Print(out)
	fmt.Fprintf(out, "\n%s RU by %s", columns.Amount(float(reply, "ruTotal")), columns.Plural(whole(reply, "shapes"), "shape"))
	if ms, ok := reply.Get("since").DateTime(); ok {
		fmt.Fprintf(out, " since %s", time.UnixMilli(ms).UTC().Format(time.DateTime+" MST"))
	}
	fmt.Fprintln(out)
	if ru := float(reply, "ruOperators"); ru > 0 {
		fmt.Fprintf(out, "besides, %s RU of operators (console, diagnosis), outside of the budgets, since the server started\n", columns.Amount(ru))
	}
	if by, ok := reply.Get("throttledBy").Doc(); ok {
		var parts []string
		for limit, n := range by.Fields() {
			count, _ := n.AsInt64()
			parts = append(parts, fmt.Sprintf("%s %d", limit, count))
		}
		fmt.Fprintf(out, "refused by the limit of: %s\n", strings.Join(parts, ", "))
	}
	for _, n := range notes {
		fmt.Fprintf(out, "\n%s\n", n)
	}
}
