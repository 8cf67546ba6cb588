package differential

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// js prints a value in the notation of the shell.
func js(v any) string {
	switch v := v.(type) {
	case nil, bson.Null:
		return "null"
	case missing:
		return "missing"
	case bson.Undefined:
		return "undefined"
	case int32:
		return strconv.Itoa(int(v))
	case int:
		return strconv.Itoa(v)
	case int64:
		return fmt.Sprintf("NumberLong(%q)", strconv.FormatInt(v, 10))
	case float64:
		if v == math.Trunc(v) && !math.IsInf(v, 0) {
			if v == 0 && math.Signbit(v) {
				return "Double(-0)"
			}
			return "Double(" + strconv.FormatFloat(v, 'g', -1, 64) + ")"
		}
		return strings.NewReplacer("+Inf", "Infinity", "-Inf", "-Infinity").Replace(strconv.FormatFloat(v, 'g', -1, 64))
	case bson.Decimal128:
		return fmt.Sprintf("NumberDecimal(%q)", v.String())
	case string:
		return strconv.Quote(v)
	case bson.Symbol:
		return fmt.Sprintf("BSONSymbol(%q)", string(v))
	case bool:
		return strconv.FormatBool(v)
	case bson.DateTime:
		return fmt.Sprintf("ISODate(%q)", v.Time().UTC().Format(time.RFC3339Nano))
	case bson.ObjectID:
		return fmt.Sprintf("ObjectId(%q)", v.Hex())
	case bson.Binary:
		return fmt.Sprintf("BinData(%d, %q)", v.Subtype, base64.StdEncoding.EncodeToString(v.Data))
	case bson.Regex:
		return "/" + v.Pattern + "/" + v.Options
	case bson.Timestamp:
		return fmt.Sprintf("Timestamp(%d, %d)", v.T, v.I)
	case bson.MinKey:
		return "MinKey()"
	case bson.MaxKey:
		return "MaxKey()"
	case bson.JavaScript:
		return fmt.Sprintf("Code(%q)", string(v))
	case self:
		return `"c"`
	case other:
		return `"f"`
	case copied:
		return `"out"`
	case bson.A:
		out := make([]string, len(v))
		for i, e := range v {
			out[i] = js(e)
		}
		return "[" + strings.Join(out, ", ") + "]"
	case bson.D:
		out := make([]string, len(v))
		for i, e := range v {
			out[i] = name(e.Key) + ": " + js(e.Value)
		}
		return "{" + strings.Join(out, ", ") + "}"
	}
	return fmt.Sprintf("<%T>", v)
}

// name prints the name of a field.
func name(s string) string {
	if s == "" {
		return `""`
	}
	for i, r := range s {
		if r != '_' && r != '$' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return strconv.Quote(s)
		}
	}
	return s
}
