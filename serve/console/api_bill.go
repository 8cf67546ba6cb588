package console

import (
	"io"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/ledger"
)

// billMonths is the number of months, with the present one, of which the ledger keeps hours.
const billMonths = 4

// bill returns what users, collections, … have cost in a month, or from one hour to another, as JSON or, with the argument
// format=csv, as a file.
func bill(q *query) (any, error) {
	b := &ledger.Bill{}
	word, ok := q.text("by"), false
	if word == "" {
		word = "collection"
	}
	if b.By, ok = ledger.BillKind(word); !ok {
		return nil, mongoerr.New(mongoerr.BadValue, "by is one of %s, not %q", strings.Join(ledger.BillWords(), ", "), word)
	}
	csv := q.text("format") == "csv"
	rows := int64(500)
	if csv {
		rows = ledger.BillRowsMax
	}
	top, err := q.number("top", rows, 1, ledger.BillRowsMax)
	if err != nil {
		return nil, err
	}
	b.Top = int(top)
	now := q.Server.Cluster.Now().UTC()
	if err := b.SetTime(q.text("month"), q.text("from"), q.text("to"), now); err != nil {
		return nil, mongoerr.New(mongoerr.BadValue, "%s", err)
	}
	err = b.Read(func(command bson.Raw) (bson.Raw, error) { return q.conn.runCommand(q.Context(), "config", command) })
	if err != nil {
		return nil, err
	}
	if csv {
		return download{"cantle-bill-" + b.By.Name() + "-" + b.From.Format(time.DateOnly) + ".csv", "text/csv; charset=utf-8", b.WriteCSV}, nil
	}
	months := bson.A{}
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	for i := range billMonths {
		months = append(months, first.AddDate(0, -i, 0).Format("2006-01"))
	}
	return raw(append(b.Doc().D(), bson.E{"months", months}).Doc()), nil
}

// download is an answer that browsers save.
type download struct {
	name, kind string
	write      func(io.Writer) error
}
