package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson/ejson"
)

// TestTyped checks the names and texts of all BSON types, and the order of fields.
func TestTyped(t *testing.T) {
	d, err := ejson.Parse(`{"10": 1, "2": NumberLong("9007199254740993"), d: Double(5), s: "é", o: {b: 1, a: 2}, l: [1, "x"], id: ObjectId("0123456789abcdef01234567"),
		at: ISODate("2024-02-29T12:00:00.5Z"), far: {$date: {$numberLong: "253402300800000"}}, ok: true, no: null, u: undefined, r: /a.b/i, c: Code("f()"), y: Symbol("s"), ts: Timestamp(7, 3),
		x: NumberDecimal("1.50"), lo: MinKey, hi: MaxKey, b: BinData(0, "AQI="), uu: UUID("00112233-4455-6677-8899-aabbccddeeff"), nan: NaN, tiny: 1e-9, p: {$dbPointer: {$ref: "a.b", $id: {$oid: "0123456789abcdef01234567"}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	page := typedPage{typedPageMax}
	got := string(page.document(d))
	for _, want := range []string{
		`{"id":null,"fields":{"t":"Object","n":24,"f":[["10",{"t":"Int32","v":"1"}],["2",{"t":"Int64","v":"9007199254740993"}],["d",{"t":"Double","v":"5"}],["s",{"t":"String","v":"é"}]`,
		`["o",{"t":"Object","n":2,"f":[["b",{"t":"Int32","v":"1"}],["a",{"t":"Int32","v":"2"}]]}]`,
		`["l",{"t":"Array","n":2,"a":[{"t":"Int32","v":"1"},{"t":"String","v":"x"}]}]`,
		`["id",{"t":"ObjectId","v":"0123456789abcdef01234567"}]`, `["at",{"t":"Date","v":"2024-02-29T12:00:00.500Z"}]`, `["far",{"t":"Date","v":"253402300800000 ms"}]`,
		`["ok",{"t":"Boolean","v":"true"}]`, `["no",{"t":"Null","v":"null"}]`, `["u",{"t":"Undefined","v":"undefined"}]`, `["r",{"t":"BSONRegExp","v":"/a.b/i"}]`,
		`["c",{"t":"Code","v":"f()"}]`, `["y",{"t":"BSONSymbol","v":"s"}]`, `["ts",{"t":"Timestamp","v":"Timestamp(7, 3)"}]`, `["x",{"t":"Decimal128","v":"1.50"}]`,
		`["lo",{"t":"MinKey","v":"MinKey"}]`, `["hi",{"t":"MaxKey","v":"MaxKey"}]`, `["b",{"t":"Binary","v":"Binary(0, \"AQI=\")"}]`,
		`["uu",{"t":"Binary","v":"UUID(\"00112233-4455-6677-8899-aabbccddeeff\")"}]`, `["nan",{"t":"Double","v":"NaN"}]`, `["tiny",{"t":"Double","v":"1e-09"}]`,
		`["p",{"t":"DBPointer","v":"DBPointer(\"a.b\", ObjectId(\"0123456789abcdef01234567\"))"}]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

// TestTypedBounds checks that long texts and lists are cut, with their whole length beside, and that a page is bounded.
func TestTypedBounds(t *testing.T) {
	long := strings.Repeat("ä", 3000)
	d, err := ejson.Parse(fmt.Sprintf(`{_id: "%s", s: "%s", list: [%s0]}`, strings.Repeat("x", typedIDMax), long, strings.Repeat(`"0123456789", `, 20_000)))
	if err != nil {
		t.Fatal(err)
	}
	page := typedPage{typedPageMax}
	var row struct {
		ID     any
		Fields struct {
			F [][2]json.RawMessage
		}
	}
	text := page.document(d)
	if err := json.Unmarshal(text, &row); err != nil {
		t.Fatal(err)
	}
	var s, list struct {
		V string
		N int
		A []any
	}
	if err := json.Unmarshal(row.Fields.F[1][1], &s); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(row.Fields.F[2][1], &list); err != nil {
		t.Fatal(err)
	}
	if row.ID != nil || s.N != 6000 || s.V != strings.Repeat("ä", 500) || list.N != 20_001 || len(list.A) < 1000 || len(list.A) > 4000 {
		t.Errorf("id %v, text of %d of %d bytes, %d of %d elements", row.ID, len(s.V), s.N, len(list.A), list.N)
	}
	all := len(text)
	for range 200 {
		text = page.document(d)
		all += len(text)
	}
	if all > typedPageMax+typedPageMax/10 || !json.Valid(text) || !strings.Contains(string(text), `"n":3,"f":[]`) {
		t.Errorf("a page of %d bytes, the last document is %.100s", all, text)
	}
}
