package expr

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mql"
)

// deserializeEJSON computes $deserializeEJSON: it replaces each document that begins with the name of a type,
// such as {$oid: …}, by the value of that type. Other documents keep their fields, with converted values.
//
// Errors: ConversionFailure; ExceededMemoryLimit; the reason why the command must end.
func deserializeEJSON(env *mql.Env, s *Scratch, v bson.Value, _ bool) (bson.Value, error) {
	w := &ejsonWalk{env: env, s: s, what: "the value of Extended JSON"}
	return w.run(v, w.deserialize)
}

// deserialize appends under name the value that v represents in Extended JSON.
func (w *ejsonWalk) deserialize(name string, v bson.Value, depth int) error {
	if err := w.enter(name, v, depth); err != nil {
		return err
	}
	d, isDoc := v.Doc()
	if !isDoc {
		if v.Type == bson.TypeArray {
			return w.each(name, v, depth, w.deserialize)
		}
		w.out.Value(name, v)
		return nil
	}
	first, ok := d.First()
	if !ok || len(first.Name) == 0 || first.Name[0] != '$' {
		return w.each(name, v, depth, w.deserialize)
	}
	switch key := string(first.Name); key {
	case "$code", "$scope":
		return w.code(name, d, depth)
	default:
		made, known := unwrap(w.s, key, first.Value)
		switch {
		case !known: // for example $ref of a DBRef
			return w.each(name, v, depth, w.deserialize)
		case made.IsMissing() || d.Len() != 1:
			return failedEJSON("Failed to parse %s in Extended JSON", key)
		}
		w.out.Value(name, made)
	}
	return nil
}

// code appends the JavaScript code that d represents; if d has a $scope, with the scope's values.
func (w *ejsonWalk) code(name string, d bson.Raw, depth int) error {
	code, ok := d.Get("$code").Str()
	scope := d.Get("$scope")
	switch {
	case !ok || d.Get("$code").Type != bson.TypeString:
		return failedEJSON("Failed to parse $code in Extended JSON")
	case d.Len() == 1:
		w.out.Value(name, bson.Value{Type: bson.TypeCode, Data: w.s.String(code).Data})
		return nil
	case d.Len() != 2 || scope.Type != bson.TypeDocument:
		return failedEJSON("Failed to parse $scope in Extended JSON")
	}
	inner := &ejsonWalk{env: w.env, s: w.s, what: w.what}
	values, err := inner.run(scope, func(name string, v bson.Value, _ int) error {
		return inner.each(name, v, depth, inner.deserialize)
	})
	if err != nil {
		return err
	}
	text := w.s.String(code).Data
	data := binary.LittleEndian.AppendUint32(nil, uint32(4+len(text)+len(values.Data)))
	w.out.Value(name, bson.Value{Type: bson.TypeCodeScope, Data: slices.Concat(data, text, values.Data)})
	return nil
}

// unwrap returns the value that {key: v} represents in Extended JSON. known reports that the key is the name of
// a type. A missing value means that v has the wrong form.
func unwrap(s *Scratch, key string, v bson.Value) (made bson.Value, known bool) {
	text, isText := v.Str()
	isText = isText && v.Type == bson.TypeString
	switch key {
	case "$numberInt", "$numberLong":
		bits, t := 32, bson.TypeInt32
		if key == "$numberLong" {
			bits, t = 64, bson.TypeInt64
		}
		n, err := strconv.ParseInt(text, 10, bits)
		switch {
		case !isText || err != nil:
			return bson.Value{}, true
		case t == bson.TypeInt32:
			return s.Int32(int32(n)), true
		}
		return s.Int64(n), true
	case "$numberDouble":
		return unwrapDouble(s, text, isText), true
	case "$numberDecimal":
		if d, ok := decimal.Parse(text); ok && isText {
			return s.Decimal(d), true
		}
	case "$oid":
		var id [12]byte
		if n, err := hex.Decode(id[:], []byte(text)[:min(len(text), 24)]); isText && err == nil && n == 12 && len(text) == 24 {
			return s.ObjectID(id), true
		}
	case "$symbol":
		if isText {
			return bson.Value{Type: bson.TypeSymbol, Data: s.String(text).Data}, true
		}
	case "$uuid":
		if b, ok := parseUUID(text); ok && isText {
			return s.Binary(4, b), true
		}
	case "$date":
		return unwrapDate(s, v), true
	case "$binary", "$regularExpression", "$timestamp", "$dbPointer":
		return unwrapParts(s, key, v), true
	case "$undefined":
		if v.Type == bson.TypeBool && v.Truthy() {
			return bson.Value{Type: bson.TypeUndefined}, true
		}
	case "$minKey", "$maxKey":
		if n, ok := v.AsInt64(); ok && n == 1 {
			t := bson.TypeMinKey
			if key == "$maxKey" {
				t = bson.TypeMaxKey
			}
			return bson.Value{Type: t}, true
		}
	default:
		return bson.Value{}, false
	}
	return bson.Value{}, true
}

// unwrapDouble parses the text of $numberDouble.
func unwrapDouble(s *Scratch, text string, isText bool) bson.Value {
	switch {
	case !isText:
		return bson.Value{}
	case text == "Infinity":
		return s.Double(math.Inf(1))
	case text == "-Infinity":
		return s.Double(math.Inf(-1))
	case text == "NaN":
		return s.Double(math.NaN())
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f-f != 0 {
		return bson.Value{}
	}
	return s.Double(f)
}

// unwrapDate returns the date that the value of $date represents: a text, or {$numberLong: …}, which may be a
// plain number too.
func unwrapDate(s *Scratch, v bson.Value) bson.Value {
	if d, ok := v.Doc(); ok && d.Len() == 1 {
		if n, known := unwrap(s, "$numberLong", d.Get("$numberLong")); known {
			v = n
		}
	}
	switch v.Type {
	case bson.TypeInt32, bson.TypeInt64:
		ms, _ := v.Int64()
		return s.DateTime(ms)
	case bson.TypeString:
		text, _ := v.Str()
		if ms, err := parseDate(text, nil); err == nil {
			return s.DateTime(ms)
		}
	}
	return bson.Value{}
}

// unwrapParts returns the value of the types whose representation in Extended JSON has two fields, such as
// $timestamp.
func unwrapParts(s *Scratch, key string, v bson.Value) bson.Value {
	d, ok := v.Doc()
	if !ok || d.Len() != 2 {
		return bson.Value{}
	}
	switch key {
	case "$binary":
		data, ok1 := d.Get("base64").Str()
		sub, ok2 := d.Get("subType").Str()
		n, err := strconv.ParseUint(sub, 16, 8)
		b, err2 := base64.StdEncoding.DecodeString(data)
		if ok1 && ok2 && err == nil && err2 == nil {
			return s.Binary(byte(n), b)
		}
	case "$regularExpression":
		pattern, ok1 := d.Get("pattern").Str()
		options, ok2 := d.Get("options").Str()
		if ok1 && ok2 && strings.IndexByte(pattern+options, 0) < 0 {
			return s.Regex(pattern, options)
		}
	case "$timestamp":
		t, ok1 := d.Get("t").AsInt64()
		i, ok2 := d.Get("i").AsInt64()
		if ok1 && ok2 && t == int64(uint32(t)) && i == int64(uint32(i)) {
			return s.Timestamp(uint32(t), uint32(i))
		}
	case "$dbPointer":
		ref, ok := d.Get("$ref").Str()
		id, isDoc := d.Get("$id").Doc()
		if !ok || !isDoc {
			return bson.Value{}
		}
		if oid, known := unwrap(s, "$oid", id.Get("$oid")); known && !oid.IsMissing() {
			return bson.Value{Type: bson.TypeDBPointer, Data: slices.Concat(s.String(ref).Data, oid.Data)}
		}
	}
	return bson.Value{}
}
