package expr

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// serializeEJSON computes $serializeEJSON: it converts a value to Extended JSON. With relaxed, finite numbers other
// than decimals are not changed, and dates of the years 1970 to 9999 become texts.
//
// Errors: ConversionFailure; ExceededMemoryLimit; the reason why the command must end.
func serializeEJSON(env *mql.Env, s *Scratch, v bson.Value, relaxed bool) (bson.Value, error) {
	w := &ejsonWalk{env: env, s: s, relaxed: relaxed, what: "Extended JSON"}
	return w.run(v, w.serialize)
}

// serialize appends the representation of v under name.
func (w *ejsonWalk) serialize(name string, v bson.Value, depth int) error {
	if err := w.enter(name, v, depth); err != nil {
		return err
	}
	b := w.out
	switch v.Type {
	case bson.TypeDocument, bson.TypeArray:
		return w.each(name, v, depth, w.serialize)
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128:
		w.serializeNumber(name, v)
	case bson.TypeDateTime:
		w.serializeDate(name, v)
	case bson.TypeObjectID:
		w.wrap(name, "$oid", hex.EncodeToString(v.Data))
	case bson.TypeSymbol:
		text, _ := v.Str()
		w.wrap(name, "$symbol", text)
	case bson.TypeCode:
		code, _ := v.Code()
		w.wrap(name, "$code", code)
	case bson.TypeCodeScope:
		code, scope, _ := v.CodeScope()
		b.BeginDoc(name)
		b.String("$code", code)
		err := w.each("$scope", bson.Value{Type: bson.TypeDocument, Data: scope}, depth, w.serialize)
		b.End()
		return err
	case bson.TypeBinary:
		sub, data, _ := v.Binary()
		b.BeginDoc(name)
		b.BeginDoc("$binary")
		b.String("base64", base64.StdEncoding.EncodeToString(data))
		b.String("subType", hex.EncodeToString([]byte{sub}))
		b.End()
		b.End()
	case bson.TypeRegex:
		pattern, options, _ := v.Regex()
		b.BeginDoc(name)
		b.BeginDoc("$regularExpression")
		b.String("pattern", pattern)
		b.String("options", options)
		b.End()
		b.End()
	case bson.TypeTimestamp:
		t, i, _ := v.Timestamp()
		b.BeginDoc(name)
		b.BeginDoc("$timestamp")
		b.Int("t", int64(t))
		b.Int("i", int64(i))
		b.End()
		b.End()
	case bson.TypeDBPointer:
		ref, id, _ := v.DBPointer()
		b.BeginDoc(name)
		b.BeginDoc("$dbPointer")
		b.String("$ref", ref)
		w.wrap("$id", "$oid", hex.EncodeToString(id[:]))
		b.End()
		b.End()
	case bson.TypeUndefined:
		b.BeginDoc(name)
		b.Bool("$undefined", true)
		b.End()
	case bson.TypeMinKey, bson.TypeMaxKey:
		b.BeginDoc(name)
		b.Int32("$"+v.Type.String(), 1)
		b.End()
	default: // strings, booleans and null exist in JSON
		b.Value(name, v)
	}
	return nil
}

// wrap appends {key: text}.
func (w *ejsonWalk) wrap(name, key, text string) {
	w.out.BeginDoc(name)
	w.out.String(key, text)
	w.out.End()
}

// serializeNumber appends a number as a document that names its type; if relaxed, a finite number other than a
// decimal is not changed.
func (w *ejsonWalk) serializeNumber(name string, v bson.Value) {
	f, isDouble := v.Double()
	switch {
	case v.Type == bson.TypeDecimal128:
		d, _ := v.Decimal()
		w.wrap(name, "$numberDecimal", d.String())
	case w.relaxed && (!isDouble || f-f == 0):
		w.out.Value(name, v)
	case isDouble:
		w.wrap(name, "$numberDouble", ejsonDouble(f))
	case v.Type == bson.TypeInt32:
		w.wrap(name, "$numberInt", string(appendText(nil, v)))
	default:
		w.wrap(name, "$numberLong", string(appendText(nil, v)))
	}
}

// ejsonDouble returns the text of a double for $numberDouble, with a point or an exponent, so that it is not
// read as an integer.
func ejsonDouble(f float64) string {
	switch {
	case f != f:
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	text := strconv.FormatFloat(f, 'G', -1, 64)
	if !strings.ContainsAny(text, "E.") {
		text += ".0"
	}
	return text
}

// serializeDate appends a date as {$date: …}: with its milliseconds, or with its text if relaxed and in the
// years 1970 to 9999.
func (w *ejsonWalk) serializeDate(name string, v bson.Value) {
	ms, _ := v.DateTime()
	if c := civilOf(ms); w.relaxed && c.year >= 1970 && c.year <= 9999 {
		w.wrap(name, "$date", string(appendISO(nil, ms)))
		return
	}
	w.out.BeginDoc(name)
	w.wrap("$date", "$numberLong", strconv.FormatInt(ms, 10))
	w.out.End()
}
