package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// operands calls f with the operands of an accumulator that is used as an expression, such as $sum: the
// elements of a single array argument, or the arguments themselves.
func operands(a []bson.Value, f func(bson.Value)) {
	if len(a) == 1 {
		if d, ok := a[0].Array(); ok {
			for it := d.Iter(); it.Next(); {
				f(it.Value)
			}
			return
		}
	}
	for _, v := range a {
		f(v)
	}
}

// sumOf is $sum as an expression.
func sumOf(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	var t Summation
	operands(a, func(v bson.Value) { t.Add(v) })
	return t.Sum(&s.Arena), nil
}

// avgOf is $avg as an expression.
func avgOf(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	var t Summation
	operands(a, func(v bson.Value) { t.AddRounded(v) })
	return t.Average(&s.Arena), nil
}

// extreme returns the functions of $max (sign 1) and $min (sign -1) as expressions.
func extreme(sign int) function {
	return func(env *mql.Env, _ *Scratch, a []bson.Value) (bson.Value, error) {
		best, o := bson.Null, env.Order()
		operands(a, func(v bson.Value) {
			if !v.IsNullish() && (best.IsNullish() || bson.Compare(v, best, o)*sign > 0) {
				best = v
			}
		})
		return best, nil
	}
}

// stdDev returns the functions of $stdDevPop and $stdDevSamp as expressions.
func stdDev(sample bool) function {
	return func(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
		var d Deviation
		operands(a, d.Add)
		return d.Value(&s.Arena, sample), nil
	}
}
