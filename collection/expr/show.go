package expr

import (
	"strconv"

	"github.com/cantledb/cantle/bson"
)

// show prints a shortened value for an error message.
func show(v bson.Value) string {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol:
		t, _ := v.Str()
		if len(t) > 100 {
			t = t[:100] + "…"
		}
		return strconv.Quote(t)
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := v.Int64()
		return strconv.FormatInt(n, 10)
	case bson.TypeDouble:
		f, _ := v.Double()
		return strconv.FormatFloat(f, 'g', -1, 64)
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		return d.String()
	case bson.TypeBool:
		b, _ := v.Boolean()
		return strconv.FormatBool(b)
	}
	return v.Type.String()
}
