package match

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var opMod = Operator{Name: "$mod", Where: Field, Parse: parseMod, Doc: "reference/operator/query/mod"}

func parseMod(_ *parser, a operand) (Node, error) {
	arr, ok := a.value.Array()
	if !ok {
		return nil, badValue("malformed mod, needs to be an array")
	}
	switch n := arr.Len(); {
	case n < 2:
		return nil, badValue("malformed mod, not enough elements")
	case n > 2:
		return nil, badValue("malformed mod, too many elements")
	}
	var m mod
	for i, to := range []*int64{&m.divisor, &m.remainder} {
		what := [...]string{"divisor", "remainder"}[i]
		v, _ := arr.Index(i)
		if !v.IsNumber() {
			return nil, badValue("malformed mod, %s not a number", what)
		}
		n, ok := truncated(v)
		if !ok {
			return nil, badValue("malformed mod, %s value is invalid :: caused by :: Unable to coerce value to integral type", what)
		}
		*to = n
	}
	if m.divisor == 0 {
		return nil, badValue("divisor cannot be 0")
	}
	return newLeaf(a.path, &m), nil
}

// truncated converts a number to an integer without its fraction; ok is false for NaN and for values outside of
// int64.
func truncated(v bson.Value) (n int64, ok bool) {
	if n, ok := v.AsInt64(); ok {
		return n, true
	}
	f, ok := v.AsFloat()
	if !ok || math.IsNaN(f) || f >= 1<<63 || f < -1<<63 {
		return 0, false
	}
	return v.TruncInt64()
}

// mod compares the remainder of the integral part of a number.
type mod struct{ divisor, remainder int64 }

func (m *mod) name() string { return "$mod" }

func (*mod) reasons() (no, yes string) {
	return "$mod did not evaluate to expected remainder", "$mod did evaluate to expected remainder"
}

func (*mod) sameForEqual() bool { return true }

func (m *mod) holds(_ *mql.Env, v bson.Value, _ *expr.Scratch) (bool, error) {
	if !v.IsNumber() {
		return false, nil
	}
	n, ok := truncated(v)
	return ok && remainder(n, m.divisor) == m.remainder, nil
}

// remainder returns n % divisor, with the sign of n. The smallest int64 divided by -1 has the remainder
// 0.
func remainder(n, divisor int64) int64 {
	if divisor == -1 {
		return 0
	}
	return n % divisor
}

func (m *mod) append(b *bson.Builder) {
	b.BeginArray("$mod")
	b.Int("", m.divisor)
	b.Int("", m.remainder)
	b.End()
}

func (m *mod) shape(dst []byte) []byte { return append(dst, "$mod"...) }

func (m *mod) bounds(add func(Interval)) (exact bool) {
	add(classBounds(bson.TypeInt64))
	return false
}
