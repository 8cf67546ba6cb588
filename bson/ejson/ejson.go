// Package ejson reads and prints Extended JSON for tests, logs and tools. Apart from tests and the commands in cmd,
// only it and bson use the MongoDB driver; no hot path uses it.
//
// Besides Extended JSON v2, it accepts the notation that people type in a shell: bare field names, single quotes,
// trailing commas, and the constructors ObjectId("…"), NumberLong(…), NumberInt(…), NumberDecimal("…"),
// Decimal128("…"), ISODate("…"), Timestamp(t, i), UUID("…"), BinData(n, "…"), Long, Int32, Double, Date, Code,
// Symbol, MinKey, MaxKey, NaN, Infinity, undefined and /pattern/options.
package ejson

import (
	"fmt"

	"github.com/cantledb/cantle/bson"

	driver "go.mongodb.org/mongo-driver/v2/bson"
)

// Parse reads one document.
func Parse(s string) (bson.Raw, error) {
	v, err := ParseValue(s)
	if err != nil {
		return nil, err
	}
	d, ok := v.Doc()
	if !ok {
		return nil, fmt.Errorf("%.60s is %s, not a document", s, v.Type)
	}
	return d, nil
}

// ParseValue reads one value of any type.
func ParseValue(s string) (bson.Value, error) {
	p := parser{in: s}
	p.space()
	p.out = append(p.out, `{"v":`...)
	if err := p.value(0); err != nil {
		return bson.Value{}, err
	}
	p.space()
	if p.pos < len(p.in) {
		return bson.Value{}, p.errorf("text after the value")
	}
	p.out = append(p.out, '}')
	var d driver.D
	if err := driver.UnmarshalExtJSON(p.out, false, &d); err != nil {
		return bson.Value{}, fmt.Errorf("%.80s: %w", s, err)
	}
	b, err := driver.Marshal(d)
	if err != nil {
		return bson.Value{}, err
	}
	r, err := bson.Parse(b, bson.Limits{Bytes: 64 << 20, Depth: 1000})
	if err != nil {
		return bson.Value{}, err
	}
	return r.Get("v"), nil
}

// String prints a document as relaxed Extended JSON on one line.
func String(r bson.Raw) string { return format(r, false) }

// Canonical prints a document as canonical Extended JSON, all types visible.
func Canonical(r bson.Raw) string { return format(r, true) }

func format(r bson.Raw, canonical bool) string {
	b, err := driver.MarshalExtJSON(driver.Raw(r), canonical, false)
	if err != nil {
		return fmt.Sprintf("<%v>", err)
	}
	return string(b)
}

// ValueString prints a value as relaxed Extended JSON, and a missing value as missing.
func ValueString(v bson.Value) string { return formatValue(v, false) }

// ValueCanonical prints a value as canonical Extended JSON.
func ValueCanonical(v bson.Value) string { return formatValue(v, true) }

func formatValue(v bson.Value, canonical bool) string {
	if v.IsMissing() {
		return "missing"
	}
	b := bson.NewBuilder(nil)
	b.Value("v", v)
	s := format(b.Doc(), canonical)
	if len(s) < 6 || s[:5] != `{"v":` {
		return s
	}
	return s[5 : len(s)-1]
}
