package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/serve/flags"
	"github.com/cantledb/cantle/shard/ledger"
)

const billHelp = `Shows what users, applications, throughput buckets, collections, query shapes or shard key
values have cost in a month or another time, the most expensive first. The sums are those of
config.requestUnits, and equal the charges in the replies. All times are UTC.

  cantle bill --by tenant --month 2026-11 URI
  cantle bill --by collection --from 2026-11-05 --to 2026-11-06T12 URI
  cantle bill --by user --month 2026-11 --csv URI > bill.csv

  RU, share     request units of all commands together, and their share of the total
  commands      replies with a charge; each page of a cursor is one
  each          RU of one on average

The server keeps the sums of 90 days, in each hour those of the 100 names with the highest sums;
the others share a row.
`

// billRows is the default of --top in a table.
const billRows = 30

func billVerb(f *pflag.FlagSet) action {
	by := f.String("by", "collection", "`kind` of the rows: "+strings.Join(ledger.BillWords(), ", ")+"; a tenant is a shard key value")
	flags.Choose(f, "by", ledger.BillWords()...)
	month := f.String("month", "", "`month` of the bill, such as 2026-11; the present one by default")
	from := f.String("from", "", "begin of another `time`: a day, or an hour such as 2026-11-05T13")
	to := f.String("to", "", "end of that `time`, which is not part of it; now by default")
	top := f.Int("top", billRows, fmt.Sprintf("`number` of rows to show; by default %d in a table, %d in JSON and CSV", billRows, ledger.BillRowsMax))
	limit := f.Duration("timeout", time.Minute, "maximum time to wait for an answer")
	asCSV := f.Bool("csv", false, "print CSV instead of a table")
	asJSON := jsonFlag(f)
	return func(ctx context.Context, s Streams) error {
		b := &ledger.Bill{Top: *top}
		b.By, _ = ledger.BillKind(*by)
		if (*asCSV || *asJSON) && !f.Changed("top") {
			b.Top = ledger.BillRowsMax
		}
		switch {
		case f.NArg() != 1:
			return usageErrorf("expected a connection string, as in\n\n  cantle bill --by user --month 2026-11 mongodb://127.0.0.1:27017/")
		case *asCSV && *asJSON:
			return usageErrorf("--csv and --json exclude each other")
		case b.Top < 1 || b.Top > ledger.BillRowsMax:
			return usageErrorf("--top is from 1 to %d", ledger.BillRowsMax)
		}
		now := time.Now()
		if err := b.SetTime(*month, *from, *to, now); err != nil {
			return usageError{err}
		}
		ctx, cancel := context.WithTimeout(ctx, *limit)
		defer cancel()
		c, err := connect(f.Arg(0), "cantle bill", onOne)
		if err != nil {
			return err
		}
		defer c.close()
		c.waits.showOn(s.Err)
		if err := b.Read(func(command bson.Raw) (bson.Raw, error) { return c.runCommand(ctx, "config", command) }); err != nil {
			return err
		}
		if oldest := now.UTC().Truncate(time.Hour).Add(-ledger.KeptHours * time.Hour); b.From.Before(oldest) {
			fmt.Fprintf(s.Err, "the server keeps %d days: hours before %s are missing\n", ledger.KeptHours/24, oldest.Format(time.DateTime))
		}
		switch {
		case *asJSON:
			printJSON(s.Out, b.Doc())
		case *asCSV:
			return b.WriteCSV(columns.Raw(s.Out))
		default:
			printBill(s.Out, b)
		}
		return nil
	}
}

func printBill(out io.Writer, b *ledger.Bill) {
	period := fmt.Sprintf("from %s to %s UTC", b.From.UTC().Format(time.DateTime), b.To.UTC().Format(time.DateTime))
	total, commands := b.Total()
	if commands == 0 {
		fmt.Fprintf(out, "no command had a charge %s\n", period)
		return
	}
	t := columns.Table{}
	head := []string{" RU", " share", " commands", " each"}
	switch b.By {
	case ledger.Shape:
		head = append(head, "command", "collection", "filter and sort")
	case ledger.Value:
		head = append(head, "collection", "value")
	default:
		head = append(head, b.By.Name())
	}
	t.Row(head...)
	line := func(r *ledger.Row, names ...string) {
		t.Row(append([]string{ledger.Units(r.Hundredths), fmt.Sprintf("%.1f%%", 100*float64(r.Hundredths)/float64(total)),
			strconv.FormatInt(r.Commands, 10), columns.Amount(float64(r.Hundredths) / 100 / float64(r.Commands))}, names...)...)
	}
	for _, r := range b.Rows {
		switch b.By {
		case ledger.Shape:
			filter := r.Filter
			if r.Sort != "" {
				filter += " " + r.Sort
			}
			line(&r, r.Command, r.Namespace, columns.Clip(filter, 80))
		case ledger.Value:
			value := "(values of documents that this user may not read)"
			if !r.Value.IsEmpty() {
				value = columns.Clip(ejson.String(r.Value), 80)
			}
			line(&r, r.Namespace, value)
		default:
			name := r.Name
			if name == "" {
				name = "(none)"
			}
			line(&r, columns.Clip(name, 80))
		}
	}
	if b.Others.Commands > 0 {
		line(&b.Others, append([]string{"(others)"}, make([]string, len(head)-5)...)...)
	}
	t.Print(out)
	fmt.Fprintf(out, "\n%s RU by %s %s\n", ledger.Units(total), columns.Plural(commands, "command"), period)
}
