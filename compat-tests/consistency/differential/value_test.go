package differential

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// missing represents an absent field.
type missing struct{}

// collator compares strings; nil is by bytes.
type collator func(a, b string) int

// strings compares two strings.
func (c collator) strings(a, b string) int {
	if c == nil {
		return strings.Compare(a, b)
	}
	return c(a, b)
}

// rank returns the position of a value's type in MongoDB's order of types. Manual:
// reference/bson-type-comparison-order
func rank(v any) int {
	switch v.(type) {
	case bson.MinKey:
		return -1
	case missing, bson.Undefined:
		return 0
	case nil, bson.Null:
		return 5
	case int32, int64, float64, bson.Decimal128:
		return 10
	case string, bson.Symbol:
		return 15
	case bson.D:
		return 20
	case bson.A:
		return 25
	case bson.Binary:
		return 30
	case bson.ObjectID:
		return 35
	case bool:
		return 40
	case bson.DateTime:
		return 45
	case bson.Timestamp:
		return 47
	case bson.Regex:
		return 50
	case bson.JavaScript:
		return 60
	case bson.MaxKey:
		return 127
	}
	panic(unjudged{"a value of a type that the model has not"})
}

// number returns a numeric value as a float64.
func number(v any) float64 {
	switch v := v.(type) {
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	case bson.Decimal128:
		f, _ := exact(v).Float64()
		return f
	}
	panic("not a number")
}

// special returns v as a float64 if v is NaN, -Inf or +Inf; ok is false for all other numbers.
func special(v any) (f float64, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, math.IsNaN(v) || math.IsInf(v, 0)
	case bson.Decimal128:
		if v.IsNaN() {
			return math.NaN(), true
		}
		return math.Inf(v.IsInf()), v.IsInf() != 0
	}
	return 0, false
}

// exact returns a finite number as a fraction.
func exact(v any) *big.Rat {
	switch v := v.(type) {
	case int32:
		return new(big.Rat).SetInt64(int64(v))
	case int64:
		return new(big.Rat).SetInt64(v)
	case float64:
		return new(big.Rat).SetFloat64(v)
	}
	d := v.(bson.Decimal128)
	n, exp, err := d.BigInt()
	if err != nil || exp > 400 || exp < -400 {
		panic(unjudged{"a decimal with a large exponent"})
	}
	r := new(big.Rat).SetInt(n)
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp, -exp))), nil)
	if exp < 0 {
		return r.Quo(r, new(big.Rat).SetInt(ten))
	}
	return r.Mul(r, new(big.Rat).SetInt(ten))
}

// small returns a number that a float64 holds exactly.
func small(v any) (float64, bool) {
	switch v := v.(type) {
	case int32:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// numbers compares two numbers; NaN is the least.
func numbers(a, b any) int {
	if x, ok := small(a); ok {
		if y, ok := small(b); ok {
			return cmp.Compare(x, y)
		}
	}
	x, xs := special(a)
	y, ys := special(b)
	switch {
	case xs && ys:
		return cmp.Compare(x, y)
	case xs:
		return cmp.Compare(x, 0)
	case ys:
		return cmp.Compare(0, y)
	}
	return exact(a).Cmp(exact(b))
}

// compare orders two values, strings by their bytes.
func compare(a, b any) int { return collator(nil).compare(a, b) }

// compare orders two values.
func (c collator) compare(a, b any) int {
	if r := cmp.Compare(rank(a), rank(b)); r != 0 {
		return r
	}
	switch a := a.(type) {
	case int32, int64, float64, bson.Decimal128:
		return numbers(a, b)
	case string, bson.Symbol:
		return c.strings(asString(a), asString(b))
	case bool:
		return cmp.Compare(bit(a), bit(b.(bool)))
	case bson.DateTime:
		return cmp.Compare(a, b.(bson.DateTime))
	case bson.Timestamp:
		return a.Compare(b.(bson.Timestamp))
	case bson.ObjectID:
		other := b.(bson.ObjectID)
		return bytes.Compare(a[:], other[:])
	case bson.Binary:
		other := b.(bson.Binary)
		return cmp.Or(cmp.Compare(len(a.Data), len(other.Data)), cmp.Compare(a.Subtype, other.Subtype), bytes.Compare(a.Data, other.Data))
	case bson.Regex:
		other := b.(bson.Regex)
		return cmp.Or(strings.Compare(a.Pattern, other.Pattern), strings.Compare(a.Options, other.Options))
	case bson.JavaScript:
		return strings.Compare(string(a), string(b.(bson.JavaScript)))
	case bson.A:
		other := b.(bson.A)
		for i := range min(len(a), len(other)) {
			if r := c.compare(a[i], other[i]); r != 0 {
				return r
			}
		}
		return cmp.Compare(len(a), len(other))
	case bson.D:
		other := b.(bson.D)
		for i := range min(len(a), len(other)) {
			// Type first, then name, then value.
			if r := cmp.Or(cmp.Compare(rank(a[i].Value), rank(other[i].Value)), strings.Compare(a[i].Key, other[i].Key)); r != 0 {
				return r
			}
			if r := c.compare(a[i].Value, other[i].Value); r != 0 {
				return r
			}
		}
		return cmp.Compare(len(a), len(other))
	}
	return 0
}

// asString returns the text of a string or a symbol.
func asString(v any) string {
	if s, ok := v.(bson.Symbol); ok {
		return string(s)
	}
	return v.(string)
}

// bit returns a bool as a number.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// get returns a field of a document.
func get(doc bson.D, name string) any {
	for _, e := range doc {
		if e.Key == name {
			return e.Value
		}
	}
	return missing{}
}

// folds removes the accents from the letters of the generator.
var folds = strings.NewReplacer("é", "e", "É", "E")

// byLetters returns a collator that compares strings by their letters, then (from strength 2) by accents, and not by
// case. For the letters and the strengths (1 and 2) that the generator draws, ICU compares in the same way.
func byLetters(strength int) collator {
	return func(a, b string) int {
		r := strings.Compare(strings.ToLower(folds.Replace(a)), strings.ToLower(folds.Replace(b)))
		if r == 0 && strength > 1 {
			r = strings.Compare(strings.ToLower(a), strings.ToLower(b))
		}
		return r
	}
}
