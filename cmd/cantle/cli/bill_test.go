package cli

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/shard/ledger"
)

// The rows of cantle bill add up to the charges in the replies, in a table, in JSON and in CSV, by every kind of row; --top
// adds the rest to the others.
func TestBill(t *testing.T) {
	uri, db := start(t, "--reply-charge")
	charged, _ := run(t, db.Client().Database("admin"), `{shardCollection: "test.orders", key: {tenant: 1}}`)["requestCharge"].(float64)
	charge := func(text string) { charged += run(t, db, text)["requestCharge"].(float64) }
	for i := range 9 {
		charge(fmt.Sprintf(`{insert: "orders", documents: [{_id: %d, tenant: "t%d", pad: "%s"}]}`, i, i%3, strings.Repeat("x", 700*(i%3))))
	}
	charge(`{find: "orders", filter: {tenant: "t1"}, sort: {_id: 1}}`)
	for i := range 5 {
		charge(fmt.Sprintf(`{insert: "=%d", documents: [{_id: 1}]}`, i))
	}
	want := ledger.Units(int64(charged*100 + 0.5))
	bill := func(args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := verbStatus(t, "bill", "", &out, &errs, append(args, uri)...); code != 0 || errs.Len() > 0 {
			t.Fatalf("%q: status %d\n%s", args, code, errs.String())
		}
		return out.String()
	}
	has := func(text string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("%q is missing in\n%s", p, text)
			}
		}
	}
	month := time.Now().UTC().Format("2006-01")
	has(bill(), "RU  share  commands  each  collection\n", "  test.orders\n", want+" RU by ", " from "+month+"-01 00:00:00 to ")
	has(bill("--by", "tenant"), "  test.orders  {\"tenant\":\"t1\"}\n", "(others)", want+" RU by")
	has(bill("--by", "value", "--month", month), `{"tenant":"t2"}`)
	has(bill("--by", "shape"), `find             test.orders  {tenant: ?} {_id: 1}`)
	has(bill("--by", "user"), "(none)")
	has(bill("--by", "bucket", "--from", month+"-01"), want+" RU by")
	has(bill("--top", "1"), "(others)", want+" RU by")
	day := func(ago int) string { return time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
	has(bill("--from", day(5)+"T05", "--to", day(4)), "no command had a charge from "+day(5)+" 05:00:00 to "+day(4)+" 00:00:00 UTC")
	var out, errs strings.Builder
	if code := verbStatus(t, "bill", "", &out, &errs, "--month", "2020-01", uri); code != 0 || !strings.Contains(errs.String(), "the server keeps 90 days: hours before ") {
		t.Errorf("status %d\n%s", code, errs.String())
	}

	for _, by := range ledger.BillWords() {
		for _, top := range []string{"1", "10000"} {
			doc, err := ejson.Parse(bill("--by", by, "--json", "--top", top))
			bsontest.Must(t, err)
			total := whole(doc, "hundredths")
			others, _ := doc.Get("others").Doc()
			sum := whole(others, "hundredths")
			rows, _ := doc.Get("rows").Array()
			for v := range rows.Values() {
				d, _ := v.Doc()
				sum += whole(d, "hundredths")
			}
			if sum != total || ledger.Units(total) != want || rows.Len() > 1 && top == "1" {
				t.Errorf("--by %s --top %s: the rows add up to %d, the total is %d, the charges are %s", by, top, sum, total, want)
			}
		}
	}

	lines, err := csv.NewReader(strings.NewReader(bill("--csv"))).ReadAll()
	bsontest.Must(t, err)
	sum := 0.0
	for _, l := range lines[1:] {
		var ru float64
		fmt.Sscan(l[11], &ru)
		sum += ru
		if strings.HasPrefix(l[3], "=") {
			t.Errorf("a spreadsheet would compute %s", l[3])
		}
	}
	if fmt.Sprintf("%.2f", sum) != want || len(lines) < 7 || strings.Join(lines[0], ",") != "from,to,by,name,others,ns,command,filter,sort,value,commands,requestUnits" {
		t.Errorf("%q add up to %.2f, not %s", lines, sum, want)
	}

	for _, c := range []struct{ args, want string }{
		{"--by planet URI", "--by is one of user, application, bucket, collection, shape, value, tenant"},
		{"--month 11 URI", `"11" is no month`},
		{"--month 2026-11 --to 2026-11-02 URI", "excludes"},
		{"--from 2026-11-05T13:30:00Z URI", "is no full hour"},
		{"--from yesterday URI", "neither a day"},
		{"--from 2026-11-05 --to 2026-11-05 URI", "has no hour"},
		{"--csv --json URI", "exclude each other"},
		{"--top 0 URI", "--top is from 1 to 10000"},
		{"", "expected a connection string"},
	} {
		var out strings.Builder
		if code := verbStatus(t, "bill", "", &out, &out, strings.Fields(c.args)...); code != 2 || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: status %d\n%s", c.args, code, out.String())
		}
	}
}
