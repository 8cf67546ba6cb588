package console

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

// The typed form of documents, for the page: each value is {t: type, v: text}, a document {t: "Object", n: number of
// fields, f: [[name, value], …]}, an array {t: "Array", n, a: [value, …]}. It keeps the order of fields and the types
// of all numbers, and is bounded: long texts are cut (n is then their length in bytes), and so are long lists (n is then
// more than there are). Types have the names of MongoDB Compass.

const (
	typedTextMax     = 1000     // bytes of one text
	typedBinaryMax   = 256      // bytes of one binary value
	typedDocumentMax = 64 << 10 // bytes of the typed form of one document, about
	typedPageMax     = 4 << 20  // bytes of that of a page, about
	typedIDMax       = 16 << 10 // bytes of an _id as Extended JSON
)

// typedNames holds the names of types, as in MongoDB Compass.
var typedNames = map[bson.Type]string{
	bson.TypeDouble: "Double", bson.TypeString: "String", bson.TypeDocument: "Object", bson.TypeArray: "Array", bson.TypeBinary: "Binary",
	bson.TypeUndefined: "Undefined", bson.TypeObjectID: "ObjectId", bson.TypeBool: "Boolean", bson.TypeDateTime: "Date", bson.TypeNull: "Null",
	bson.TypeRegex: "BSONRegExp", bson.TypeDBPointer: "DBPointer", bson.TypeCode: "Code", bson.TypeSymbol: "BSONSymbol", bson.TypeCodeScope: "Code",
	bson.TypeInt32: "Int32", bson.TypeTimestamp: "Timestamp", bson.TypeInt64: "Int64", bson.TypeDecimal128: "Decimal128",
	bson.TypeMinKey: "MinKey", bson.TypeMaxKey: "MaxKey",
}

// typedPage writes the documents of a page.
type typedPage struct {
	left int // bytes of the typed form that the rest of the page may have
}

// document returns the typed form of a document beside its _id as canonical Extended JSON, null for a very long one.
func (p *typedPage) document(d bson.Raw) json.RawMessage {
	id := "null"
	if v, ok := d.Lookup("_id"); ok && len(v.Data) < typedIDMax {
		if text := ejson.ValueCanonical(v); json.Valid([]byte(text)) {
			id = text
		}
	}
	w := typedWriter{most: min(p.left, typedDocumentMax)}
	w.value(d.Value())
	p.left = max(0, p.left-len(w.out))
	return fmt.Appendf(nil, `{"id":%s,"fields":%s}`, id, w.out)
}

// typedWriter writes the typed form of one document; after most bytes, lists end.
type typedWriter struct {
	out  []byte
	most int
}

func (w *typedWriter) value(v bson.Value) {
	w.out = fmt.Appendf(w.out, `{"t":"%s"`, typedNames[v.Type])
	if d, ok := v.Doc(); ok {
		w.list(d, 'f')
	} else if list, ok := v.Array(); ok {
		w.list(list, 'a')
	} else {
		text, length := typedText(v)
		w.out = append(w.out, `,"v":`...)
		w.text(text)
		if length > len(text) {
			w.out = fmt.Appendf(w.out, `,"n":%d`, length)
		}
	}
	w.out = append(w.out, '}')
}

func (w *typedWriter) text(s string) {
	b, _ := json.Marshal(s)
	w.out = append(w.out, b...)
}

// list writes the members of a document, as pairs with their names (form f), or of an array (form a).
func (w *typedWriter) list(d bson.Raw, form byte) {
	w.out = fmt.Appendf(w.out, `,"n":%d,"%c":[`, d.Len(), form)
	n := 0
	for it := d.Iter(); it.Next() && len(w.out) < w.most; n++ {
		if n > 0 {
			w.out = append(w.out, ',')
		}
		if form == 'f' {
			w.out = append(w.out, '[')
			name, _ := clipped(string(it.Name))
			w.text(name)
			w.out = append(w.out, ',')
		}
		w.value(it.Value)
		if form == 'f' {
			w.out = append(w.out, ']')
		}
	}
	w.out = append(w.out, ']')
}

// clipped returns the first bytes of a text, at most typedTextMax, and the length of the text.
func clipped(s string) (text string, length int) {
	length = len(s)
	if length > typedTextMax {
		at := typedTextMax
		for at > 0 && !utf8.RuneStart(s[at]) {
			at--
		}
		s = s[:at]
	}
	return s, length
}

// typedText returns the text of a scalar value, and the length of the whole text, which is longer if it was cut.
func typedText(v bson.Value) (text string, length int) {
	switch v.Type {
	case bson.TypeString, bson.TypeSymbol:
		s, _ := v.Str()
		return clipped(s)
	case bson.TypeCode:
		s, _ := v.Code()
		return clipped(s)
	case bson.TypeCodeScope:
		s, _, _ := v.CodeScope()
		return clipped(s)
	case bson.TypeRegex:
		pattern, options, _ := v.Regex()
		return clipped("/" + pattern + "/" + options)
	case bson.TypeDouble:
		f, _ := v.Double()
		text = doubleText(f)
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := v.Int64()
		text = strconv.FormatInt(n, 10)
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		text = d.String()
	case bson.TypeBool:
		text = strconv.FormatBool(v.Truthy())
	case bson.TypeObjectID:
		id, _ := v.ObjectID()
		text = fmt.Sprintf("%x", id)
	case bson.TypeDateTime:
		ms, _ := v.DateTime()
		text = dateText(ms)
	case bson.TypeTimestamp:
		t, i, _ := v.Timestamp()
		text = fmt.Sprintf("Timestamp(%d, %d)", t, i)
	case bson.TypeBinary:
		return binaryText(v)
	case bson.TypeDBPointer:
		ns, id, _ := v.DBPointer()
		text = fmt.Sprintf("DBPointer(%q, ObjectId(\"%x\"))", ns, id)
	case bson.TypeNull:
		text = "null"
	case bson.TypeUndefined:
		text = "undefined"
	default:
		text = typedNames[v.Type]
	}
	return text, len(text)
}

// doubleText returns the text of a double as the MongoDB shell prints it.
func doubleText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f != 0 && (math.Abs(f) >= 1e21 || math.Abs(f) < 1e-6):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// dateText returns a date as in ISO 8601; one whose year does not have four digits as milliseconds since 1970.
func dateText(ms int64) string {
	if t := time.UnixMilli(ms).UTC(); t.Year() >= 0 && t.Year() <= 9999 {
		return t.Format("2006-01-02T15:04:05.000Z")
	}
	return strconv.FormatInt(ms, 10) + " ms"
}

// binaryText returns a binary value as a UUID or in base64.
func binaryText(v bson.Value) (text string, length int) {
	sub, b, _ := v.Binary()
	if sub == 4 && len(b) == 16 {
		text = fmt.Sprintf("UUID(%q)", bson.UUIDText([16]byte(b)))
		return text, len(text)
	}
	text = fmt.Sprintf("Binary(%d, \"%s\")", sub, base64.StdEncoding.EncodeToString(b[:min(len(b), typedBinaryMax)]))
	if len(b) > typedBinaryMax {
		return text, max(len(b), len(text)+1)
	}
	return text, len(text)
}
