// Package show prints values for case files in a form that shows their types.
package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// Value prints v much as a shell would: 1 is an int32, 1.0 a double, NumberLong(1) an int64; an absent value
// is "missing". Doubles have 15 digits, because the last ones may differ between machines.
func Value(v bson.Value) string {
	var b strings.Builder
	appendValue(&b, v)
	return b.String()
}

func appendValue(b *strings.Builder, v bson.Value) {
	switch v.Type {
	case bson.TypeMissing:
		b.WriteString("missing")
	case bson.TypeInt32:
		n, _ := v.Int32()
		fmt.Fprint(b, n)
	case bson.TypeInt64:
		n, _ := v.Int64()
		fmt.Fprintf(b, "NumberLong(%d)", n)
	case bson.TypeDouble:
		f, _ := v.Double()
		s := strconv.FormatFloat(f, 'g', 15, 64)
		if !strings.ContainsAny(s, ".eIN") {
			s += ".0"
		}
		b.WriteString(s)
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		fmt.Fprintf(b, "Decimal128(%q)", d.String())
	case bson.TypeDateTime:
		ms, _ := v.DateTime()
		if t := time.UnixMilli(ms).UTC(); t.Year() >= 0 && t.Year() <= 9999 {
			fmt.Fprintf(b, "ISODate(%q)", t.Format("2006-01-02T15:04:05.000Z"))
		} else {
			fmt.Fprintf(b, "Date(%d)", ms)
		}
	case bson.TypeDocument, bson.TypeArray:
		appendFields(b, v)
	default:
		b.WriteString(ejson.ValueString(v))
	}
}

// appendFields prints a document or an array.
func appendFields(b *strings.Builder, v bson.Value) {
	open, end := "{", "}"
	if v.Type == bson.TypeArray {
		open, end = "[", "]"
	}
	b.WriteString(open)
	i := 0
	for name, e := range bson.Raw(v.Data).Fields() {
		if i++; i > 1 {
			b.WriteString(", ")
		}
		if v.Type == bson.TypeDocument {
			fmt.Fprintf(b, "%s: ", name)
		}
		appendValue(b, e)
	}
	b.WriteString(end)
}
