package expr

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// notNumeric returns the error of operators that take one number.
func notNumeric(op string, v bson.Value) error {
	return mongoerr.New(28765, "%s only supports numeric types, not %s", op, v.Type)
}

// abs is $abs.
func abs(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	switch v := a[0]; v.Type {
	case bson.TypeMissing, bson.TypeNull, bson.TypeUndefined:
		return bson.Null, nil
	case bson.TypeInt32, bson.TypeInt64:
		n, _ := v.Int64()
		if n == math.MinInt64 {
			return v, mongoerr.New(28680, "can't take $abs of long long min")
		}
		if n >= 0 {
			return v, nil
		}
		if v.Type == bson.TypeInt64 {
			return s.Int64(-n), nil
		}
		return s.Int(-n), nil
	case bson.TypeDouble:
		f, _ := v.Double()
		return s.Double(math.Abs(f)), nil
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		return s.Decimal(decimal.Abs(d)), nil
	default:
		return v, notNumeric("$abs", v)
	}
}

// whole returns the functions of $ceil and $floor, which round with double and dec. Integers are not changed.
func whole(op string, double func(float64) float64, dec func(bson.Decimal128) bson.Decimal128) function {
	return func(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
		switch v := a[0]; v.Type {
		case bson.TypeMissing, bson.TypeNull, bson.TypeUndefined:
			return bson.Null, nil
		case bson.TypeInt32, bson.TypeInt64:
			return v, nil
		case bson.TypeDouble:
			f, _ := v.Double()
			return s.Double(double(f)), nil
		case bson.TypeDecimal128:
			d, _ := v.Decimal()
			return s.Decimal(dec(d)), nil
		default:
			return v, notNumeric(op, v)
		}
	}
}

// analytic is an operator on one number, such as $sqrt, whose result is a double, or a decimal for a decimal.
// Outside of its domain it fails with code.
type analytic struct {
	op     string
	double func(float64) float64
	dec    func(bson.Decimal128) bson.Decimal128
	domain func(float64) bool // nil: all numbers; NaN is always accepted
	code   mongoerr.Code
	text   string
	nan    bool // the result for a decimal NaN is a double NaN. Observed for logarithms.
}

func (f analytic) eval(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	v := a[0]
	if v.IsNullish() {
		return bson.Null, nil
	}
	if !v.IsNumber() {
		return v, notNumeric(f.op, v)
	}
	x, _ := v.AsFloat()
	d, isDecimal := v.Decimal()
	if f.domain != nil && x == x && !f.domain(f.exact(x, d, isDecimal)) {
		return v, mongoerr.New(f.code, f.text, show(v))
	}
	if isDecimal && !(f.nan && d.IsNaN()) {
		return s.Decimal(f.dec(d)), nil
	}
	return s.Double(f.double(x)), nil
}

// exact returns the number by which the domain is checked. A decimal may round to a double at a bound of the
// domain (-1, 0 or 1): exact then returns a double on the same side of the bound as the decimal.
func (f analytic) exact(x float64, d bson.Decimal128, isDecimal bool) float64 {
	if !isDecimal || math.IsInf(x, 0) {
		return x
	}
	switch c := decimal.Cmp(d, decimal.FromInt64(int64(x))); {
	case x == 0 && c > 0:
		return math.SmallestNonzeroFloat64
	case x == 0 && c < 0:
		return -math.SmallestNonzeroFloat64
	case math.Abs(x) == 1 && c > 0:
		return math.Nextafter(x, math.Inf(1))
	case math.Abs(x) == 1 && c < 0:
		return math.Nextafter(x, math.Inf(-1))
	}
	return x
}

func positive(f float64) bool    { return f > 0 }
func notNegative(f float64) bool { return f >= 0 }

// divide is $divide.
func divide(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	x, y := a[0], a[1]
	if x.IsNullish() || y.IsNullish() {
		return bson.Null, nil
	}
	if !x.IsNumber() || !y.IsNumber() {
		return x, mongoerr.New(mongoerr.TypeMismatch, "$divide only supports numeric types, not %s and %s", x.Type, y.Type)
	}
	if f, _ := y.AsFloat(); f == 0 && !y.Truthy() {
		return x, mongoerr.New(mongoerr.BadValue, "can't $divide by zero").Because(ErrDivideByZero)
	}
	if x.Type == bson.TypeDecimal128 || y.Type == bson.TypeDecimal128 {
		return s.Decimal(decimal.Quo(toDecimal(x), toDecimal(y))), nil
	}
	f, _ := x.AsFloat()
	g, _ := y.AsFloat()
	return s.Double(f / g), nil
}

// mod is $mod: the remainder has the sign of the dividend.
func mod(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	x, y := a[0], a[1]
	if x.IsNullish() || y.IsNullish() {
		return bson.Null, nil
	}
	if !x.IsNumber() || !y.IsNumber() {
		return x, mongoerr.New(16611, "$mod only supports numeric types, not %s and %s", x.Type, y.Type)
	}
	switch {
	case x.Type == bson.TypeDecimal128 || y.Type == bson.TypeDecimal128:
		if !y.Truthy() {
			return x, mongoerr.New(5733415, "can't $mod by zero")
		}
		return s.Decimal(decimal.Rem(toDecimal(x), toDecimal(y))), nil
	case !y.Truthy():
		return x, mongoerr.New(16610, "can't $mod by zero")
	case x.Type == bson.TypeDouble || y.Type == bson.TypeDouble:
		f, _ := x.AsFloat()
		g, _ := y.AsFloat()
		return s.Double(math.Mod(f, g)), nil
	}
	n, _ := x.Int64()
	m, _ := y.Int64()
	rest := int64(0)
	if m != -1 { // the smallest int64 has no quotient by -1
		rest = n % m
	}
	if x.Type == bson.TypeInt64 || y.Type == bson.TypeInt64 {
		return s.Int64(rest), nil
	}
	return s.Int32(int32(rest)), nil
}

// logBase is $log: number, base.
func logBase(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	x, base := a[0], a[1]
	if x.IsNullish() || base.IsNullish() {
		return bson.Null, nil
	}
	if !x.IsNumber() {
		return x, mongoerr.New(28756, "$log's argument must be numeric, not %s", x.Type)
	}
	if !base.IsNumber() {
		return base, mongoerr.New(28757, "$log's base must be numeric, not %s", base.Type)
	}
	if x.Type == bson.TypeDecimal128 || base.Type == bson.TypeDecimal128 {
		d, b := toDecimal(x), toDecimal(base)
		if decimal.Cmp(d, decimal.FromInt64(0)) <= 0 && !d.IsNaN() {
			return x, mongoerr.New(28758, "$log's argument must be a positive number, but is %s", show(x))
		}
		if decimal.Cmp(b, decimal.FromInt64(0)) <= 0 && !b.IsNaN() || decimal.Cmp(b, decimal.FromInt64(1)) == 0 {
			return x, mongoerr.New(28759, "$log's base must be a positive number not equal to 1, but is %s", show(base))
		}
		if d.IsNaN() || b.IsNaN() {
			return s.Double(math.NaN()), nil
		}
		return s.Decimal(decimal.Log(d, b)), nil
	}
	f, _ := x.AsFloat()
	g, _ := base.AsFloat()
	if f <= 0 {
		return x, mongoerr.New(28758, "$log's argument must be a positive number, but is %s", show(x))
	}
	if g <= 0 || g == 1 {
		return x, mongoerr.New(28759, "$log's base must be a positive number not equal to 1, but is %s", show(base))
	}
	return s.Double(ln(f) / ln(g)), nil
}

// ln returns the natural logarithm. For subnormal numbers it scales the argument, because math.Log is wrong for
// them on amd64.
func ln(f float64) float64 {
	if f > 0 && f < 0x1p-1022 {
		return math.Log(f*0x1p60) - 60*math.Ln2
	}
	return math.Log(f)
}

// log10 returns the decimal logarithm, exact for powers of ten.
func log10(f float64) float64 {
	y := ln(f) / math.Ln10
	if n := math.Round(y); math.Abs(y-n) < 1e-9 && math.Pow10(int(n)) == f {
		return n
	}
	return y
}

// parseSigmoid parses $sigmoid with its operand as given: an array is not a list of operands.
func parseSigmoid(p *parser, op *Operator, v bson.Value) (Expr, error) {
	e, err := p.parse(v)
	if err != nil {
		return nil, err
	}
	return p.fold(&call{name: op.Name, fn: sigmoid, args: []Expr{e}, flat: true})
}

// sigmoid is $sigmoid: 1 / (1 + e^-x).
func sigmoid(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	v := a[0]
	if v.IsNullish() {
		return bson.Null, nil
	}
	if !v.IsNumber() {
		return v, mongoerr.New(mongoerr.TypeMismatch, "$sigmoid only supports numeric types, not %s", v.Type)
	}
	if d, ok := v.Decimal(); ok {
		one := decimal.FromInt64(1)
		return s.Decimal(decimal.Quo(one, decimal.Add(one, decimal.Exp(decimal.Neg(d))))), nil
	}
	f, _ := v.AsFloat()
	return s.Double(1 / (1 + math.Exp(-f))), nil
}
