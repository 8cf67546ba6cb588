package ledger

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// BillRowsMax is the maximum number of rows of a bill, without that of the others.
const BillRowsMax = 10_000

// Bill sums the rows of one kind over a time. A client of the server makes it, from config.requestUnits.
type Bill struct {
	By       Kind
	From, To time.Time // full hours; without To
	Top      int       // the maximum number of rows, 1 to BillRowsMax

	Rows   []Row // those with the highest sums, in descending order
	Others Row   // the sum of all others
	more   int64 // names that are in Others, and had rows
	total  sum
}

// BillWords lists the words for the kinds of a bill. A tenant is a shard key value.
func BillWords() (out []string) {
	for _, k := range Kinds {
		out = append(out, k.Name)
	}
	return append(out, "tenant")
}

// BillKind returns the kind for one of BillWords.
func BillKind(word string) (Kind, bool) {
	if word == "tenant" {
		return Value, true
	}
	for _, k := range Kinds {
		if k.Name == word {
			return k.Kind, true
		}
	}
	return 0, false
}

// command returns the aggregation over config.requestUnits whose documents add takes, with the highest sums first.
func (b *Bill) command() bson.Raw {
	group := bson.D{{"_id", bson.D{{"name", "$name"}, {"others", "$others"}}}}
	for _, part := range []string{"ns", "command", "filter", "sort", "value"} {
		group = append(group, bson.E{part, bson.D{{"$first", "$" + part}}})
	}
	for _, part := range []string{"commands", "hundredths"} {
		group = append(group, bson.E{part, bson.D{{"$sum", "$" + part}}})
	}
	return bson.D{{"aggregate", "requestUnits"}, {"pipeline", bson.A{
		bson.D{{"$match", bson.D{{"by", b.By.Name()}, {"hour", bson.D{{"$gte", date(b.From)}, {"$lt", date(b.To)}}}}}},
		bson.D{{"$group", group}},
		bson.D{{"$sort", bson.D{{"hundredths", -1}, {"_id", 1}}}},
	}}, {"cursor", bson.D{}}}.Doc()
}

// add adds a document of the result of command.
func (b *Bill) add(doc bson.Raw) {
	id, _ := doc.Get("_id").Doc()
	name, _ := id.Get("name").Str()
	r := decodeRow(rowID{b.By, id.Get("others").Truthy(), name}, doc)
	b.total.add(r.sum)
	if !r.Others && len(b.Rows) < b.Top {
		b.Rows = append(b.Rows, r)
		return
	}
	if !r.Others {
		b.more++
	}
	b.Others.add(r.sum)
}

// Total returns the sum of all rows, in hundredths of a request unit, and the number of commands.
func (b *Bill) Total() (hundredths, commands int64) { return b.total.Hundredths, b.total.Commands }

// Doc returns the bill for programs.
func (b *Bill) Doc() bson.Raw {
	d := bson.NewBuilder(nil)
	d.String("by", b.By.Name())
	d.DateTime("from", b.From.UnixMilli())
	d.DateTime("to", b.To.UnixMilli())
	amounts := func(s sum) {
		d.Int64("commands", s.Commands)
		d.Int64("hundredths", s.Hundredths)
		d.Double("requestUnits", float64(s.Hundredths)/100)
	}
	amounts(b.total)
	d.BeginArray("rows")
	for _, r := range b.Rows {
		d.BeginDoc("")
		d.String("name", r.Name)
		r.AppendParts(d)
		amounts(r.sum)
		d.End()
	}
	d.End()
	d.BeginDoc("others")
	d.Int64("names", b.more)
	amounts(b.Others.sum)
	d.End()
	return d.Doc()
}

// WriteCSV writes the bill as CSV, with a line for the others if there are any. The sums are decimal numbers without a
// rounding. Errors: those of w.
func (b *Bill) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	line := func(cells ...string) {
		for i, c := range cells {
			if c != "" && strings.ContainsRune("=+-@\t\r", rune(c[0])) {
				cells[i] = "'" + c // a spreadsheet would compute it
			}
		}
		_ = out.Write(cells) // out.Error has the error
	}
	from, to := b.From.UTC().Format(time.RFC3339), b.To.UTC().Format(time.RFC3339)
	line("from", "to", "by", "name", "others", "ns", "command", "filter", "sort", "value", "commands", "requestUnits")
	for _, r := range b.Rows {
		value := ""
		if !r.Value.IsEmpty() {
			value = ejson.String(r.Value)
		}
		line(from, to, b.By.Name(), r.Name, "", r.Namespace, r.Command, r.Filter, r.Sort, value, strconv.FormatInt(r.Commands, 10), Units(r.Hundredths))
	}
	if b.Others.Commands > 0 {
		line(from, to, b.By.Name(), "", "true", "", "", "", "", "", strconv.FormatInt(b.Others.Commands, 10), Units(b.Others.Hundredths))
	}
	out.Flush()
	return out.Error()
}

// Units prints hundredths of a request unit as request units.
func Units(hundredths int64) string { return fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100) }

// billTime parses the begin or end of a bill in UTC: a day, an hour such as 2026-11-05T13, or a time as RFC 3339 has it.
// Errors: another text; a time that is no full hour.
func billTime(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			if !t.Truncate(time.Hour).Equal(t) {
				return t, fmt.Errorf("%s is no full hour: the ledger sums by hour", text)
			}
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a day, such as 2026-11-05, nor an hour, such as 2026-11-05T13", text)
}

// SetTime sets the time of the bill from texts: a month such as 2026-11, or a begin and an end (billTime), of which one may be
// empty. Without any it is the present month; a begin without an end lasts until now, an end without a begin has the present
// month's. Errors: other texts; a time without an hour.
func (b *Bill) SetTime(month, from, to string, now time.Time) (err error) {
	if month != "" && (from != "" || to != "") {
		return errors.New("a month excludes a begin and an end")
	}
	now = now.UTC()
	b.From = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	if month != "" {
		if b.From, err = time.Parse("2006-01", month); err != nil {
			return fmt.Errorf("%q is no month, such as 2026-11", month)
		}
	}
	b.To = b.From.AddDate(0, 1, 0)
	if from != "" {
		if b.From, err = billTime(from); err != nil {
			return err
		}
		b.To = now.Truncate(time.Hour).Add(time.Hour)
	}
	if to != "" {
		if b.To, err = billTime(to); err != nil {
			return err
		}
	}
	if !b.From.Before(b.To) {
		return fmt.Errorf("the time from %s to %s has no hour", b.From.Format(time.DateTime), b.To.Format(time.DateTime))
	}
	return nil
}

// Read fills the bill. run runs a command on the database config. Errors: those of run.
func (b *Bill) Read(run func(command bson.Raw) (bson.Raw, error)) error {
	for command := b.command(); ; {
		reply, err := run(command)
		if err != nil {
			return err
		}
		cursor, _ := reply.Get("cursor").Doc()
		list, ok := cursor.Get("firstBatch").Array()
		if !ok {
			list, _ = cursor.Get("nextBatch").Array()
		}
		for v := range list.Values() {
			d, _ := v.Doc()
			b.add(d)
		}
		id, _ := cursor.Get("id").AsInt64()
		if id == 0 {
			return nil
		}
		command = bson.D{{"getMore", id}, {"collection", "requestUnits"}}.Doc()
	}
}

func date(t time.Time) bson.Value {
	var a bson.Arena
	return a.DateTime(t.UnixMilli())
}
