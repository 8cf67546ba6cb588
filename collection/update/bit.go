package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var opBit = Operator{Name: "$bit", parse: parseBit, Doc: "reference/operator/update/bit"}

func parseBit(_ *parser, at *fieldPath, arg bson.Value) (action, error) {
	d, ok := arg.Doc()
	if !ok {
		return nil, mongoerr.New(mongoerr.BadValue,
			"The $bit modifier is not compatible with a %s. You must pass in an embedded document: {$bit: {field: {and/or/xor: #}}", arg.Type)
	}
	var b bitAction
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		switch name {
		case "and", "or", "xor":
		default:
			return nil, mongoerr.New(mongoerr.BadValue,
				"The $bit modifier only supports 'and', 'or', and 'xor', not '%s' which is an unknown operator: {%s: %s}", name, name, shown(it.Value))
		}
		n, ok := it.Value.Int64()
		if !ok {
			return nil, mongoerr.New(mongoerr.BadValue,
				"The $bit modifier field must be an Integer(32/64 bit); a '%s' is not supported here: {%s: %s}", it.Value.Type, name, shown(it.Value))
		}
		b = append(b, bitOperation{name[0], n, it.Value.Type == bson.TypeInt64})
	}
	if len(b) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue,
			"You must pass in at least one bitwise operation. The format is: {$bit: {field: {and/or/xor: #}}")
	}
	return b, nil
}

// bitAction is the effect of $bit at a path: bitwise operations in order. A missing field counts as int32 zero. If
// the old value or an operand is an int64, the result is an int64.
type bitAction []bitOperation

type bitOperation struct {
	op   byte // first letter of the name
	n    int64
	long bool
}

func (bitAction) traits() traits { return creates }

func (b bitAction) apply(a *applier, n *node, old bson.Value) (bson.Value, outcome, error) {
	x, ok := old.Int64()
	if !ok && !old.IsMissing() {
		return old, keep, mongoerr.New(mongoerr.BadValue,
			"Cannot apply $bit to a value of non-integral type.%s has the field %s of non-integer type %s", a.docID(), n.name, old.Type)
	}
	long := old.Type == bson.TypeInt64
	for _, o := range b {
		long = long || o.long
		switch o.op {
		case 'a':
			x &= o.n
		case 'o':
			x |= o.n
		case 'x':
			x ^= o.n
		}
	}
	if long {
		return a.s.Int64(x), set, nil
	}
	return a.s.Int32(int32(x)), set, nil
}
