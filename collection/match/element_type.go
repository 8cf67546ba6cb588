package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var opType = Operator{Name: "$type", Where: Field, Parse: parseType, Doc: "reference/operator/query/type"}

func parseType(_ *parser, a operand) (Node, error) {
	set := typeSet{written: a.value}
	arr, ok := a.value.Array()
	if !ok {
		err := set.parse(a.value)
		return newLeaf(a.path, &set), err
	}
	for v := range arr.Values() {
		if err := set.parse(v); err != nil {
			return nil, err
		}
	}
	if set.types == [8]uint32{} && !set.numbers {
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s must match at least one type", a.path.String())
	}
	return newLeaf(a.path, &set), nil
}

// typeSet is a set of BSON types; it is the predicate of $type.
type typeSet struct {
	types [8]uint32 // a bit per type
	// numbers reports the alias "number", which is printed as such.
	numbers bool
	written bson.Value // the operand in the filter; missing if there was none
}

func (t *typeSet) add(x bson.Type) { t.types[x>>5] |= 1 << (x & 31) }

// has reports whether a value of type x belongs to the set. "number" stands for all numeric types.
func (t *typeSet) has(x bson.Type) bool {
	return t.types[x>>5]&(1<<(x&31)) != 0 || t.numbers && x.IsNumber()
}

// parse adds one type to the set of a $type, given by its number or its alias ("string").
//
// Errors: 2 BadValue for unknown types, 14 TypeMismatch for an argument that is neither number nor string.
func (t *typeSet) parse(v bson.Value) error {
	if s, ok := v.Str(); ok && v.Type == bson.TypeString {
		if s == "number" {
			t.numbers = true
			return nil
		}
		x, ok := bson.TypeByAlias(s)
		if !ok {
			return badValue("Unknown type name alias: %s", s)
		}
		t.add(x)
		return nil
	}
	if !v.IsNumber() {
		return mongoerr.New(mongoerr.TypeMismatch, "type must be represented as a number or a string")
	}
	n, ok := v.AsInt64()
	switch {
	case ok && n == -1:
		t.add(bson.TypeMinKey)
	case ok && n == 127 || ok && n > 0 && n < 127 && bson.Type(n).Valid():
		t.add(bson.Type(n))
	default:
		f, _ := v.AsFloat()
		return badValue("Invalid numerical type code: %v", f)
	}
	return nil
}

func (t *typeSet) name() string { return "$type" }

func (*typeSet) reasons() (no, yes string) {
	return "type did not match", "type did match"
}

func (*typeSet) sameForEqual() bool { return false }

func (t *typeSet) holds(_ *mql.Env, v bson.Value, _ *expr.Scratch) (bool, error) {
	return v.Type != bson.TypeMissing && t.has(v.Type), nil
}

func (t *typeSet) append(b *bson.Builder) {
	b.BeginArray("$type")
	if t.numbers {
		b.String("", "number")
	}
	for x := range 256 {
		if t.types[x>>5]&(1<<(x&31)) != 0 {
			b.Int32("", int32(int8(x)))
		}
	}
	b.End()
}

func (t *typeSet) shape(dst []byte) []byte { return append(dst, "$type"...) }

// bounds adds the bounds of the classes of the set's types. The bounds are not exact if a class also contains types
// that are not in the set: for string, symbol, null, undefined, and numeric types without "number". For arrays all
// keys are added: an index has the keys of their elements, which may have any type.
func (t *typeSet) bounds(add func(Interval)) (exact bool) {
	if t.has(bson.TypeArray) {
		add(AllValues())
		return false
	}
	var list []Interval
	exact = true
	for x := range 256 {
		if !t.has(bson.Type(x)) {
			continue
		}
		list = append(list, classBounds(bson.Type(x)))
		switch x := bson.Type(x); {
		case x.IsNumber():
			exact = exact && t.numbers
		case x == bson.TypeString, x == bson.TypeSymbol, x == bson.TypeNull, x == bson.TypeUndefined:
			exact = false
		}
	}
	for _, i := range union(list) {
		add(i)
	}
	return exact
}
