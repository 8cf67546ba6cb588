package match

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var opSize = Operator{Name: "$size", Where: Field, Parse: parseSize, Doc: "reference/operator/query/size"}

func parseSize(_ *parser, a operand) (Node, error) {
	n, ok := a.value.AsInt64()
	switch {
	case !a.value.IsNumber():
		return nil, badValue("Failed to parse $size. Expected a number in: %s: %s", a.op.Name, a.value.Type)
	case !ok || n > math.MaxInt32:
		return nil, badValue("Failed to parse $size. Expected an integer: %s: %s", a.op.Name, a.value.Type)
	case n < 0:
		return nil, badValue("Failed to parse $size. Expected a non-negative number in: %s: %d", a.op.Name, n)
	}
	return newWholeLeaf(a.path, size(n)), nil
}

// size matches an array with that number of elements.
type size int32

func (n size) name() string { return "$size" }

func (size) reasons() (no, yes string) {
	return "array length was not equal to given size", "array length was equal to given size"
}

func (size) sameForEqual() bool { return false }

func (n size) holds(_ *mql.Env, v bson.Value, _ *expr.Scratch) (bool, error) {
	arr, ok := v.Array()
	if !ok {
		return false, nil
	}
	left := int(n)
	for it := arr.Iter(); it.Next(); {
		if left--; left < 0 {
			return false, nil
		}
	}
	return left == 0, nil
}

func (n size) append(b *bson.Builder) { b.Int32("$size", int32(n)) }

func (n size) shape(dst []byte) []byte { return append(dst, "$size"...) }

func (n size) bounds(add func(Interval)) (exact bool) {
	if n == 0 {
		add(point(undefined))
	} else {
		add(AllValues())
	}
	return false
}
