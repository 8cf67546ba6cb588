package decimal

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/bson"
)

func dec(t testing.TB, s string) Decimal {
	t.Helper()
	d, err := bson.ParseDecimal(s)
	if err != nil {
		t.Fatal(s)
	}
	return d
}

const (
	maxText   = "9.999999999999999999999999999999999E+6144"
	leastText = "1E-6176"
)

// TestBinary compares results of operators with two operands with a table of recorded results, which are those of
// MongoDB and of IEEE 754.
func TestBinary(t *testing.T) {
	ops := map[string]func(a, b Decimal) Decimal{"+": Add, "-": Sub, "*": Mul, "/": Quo, "%": Rem, "log": Log, "^": Pow, "atan2": Atan2}
	for _, c := range [][4]string{
		{"0.10", "+", "0.20", "0.30"},
		{maxText, "+", "0", maxText},
		{maxText, "+", maxText, "Infinity"},
		{maxText, "-", maxText, "0E+6111"},
		{"1E+10", "+", "0", "10000000000"},
		{"1E+6144", "-", "1", "1.000000000000000000000000000000000E+6144"},
		{"1E-6143", "-", "0", "1E-6143"},
		{"1E+40", "+", "1", "1.000000000000000000000000000000000E+40"},
		{"1E+40", "-", "1E-6000", "1.000000000000000000000000000000000E+40"},
		{"1", "+", "5E-34", "1.000000000000000000000000000000000"},
		{"1.000000000000000000000000000000001", "+", "5E-34", "1.000000000000000000000000000000002"},
		{"1", "+", "5.00000000000000000000000000000001E-34", "1.000000000000000000000000000000001"},
		{"1", "-", "1E-200", "1.000000000000000000000000000000000"},
		{"0", "+", "-0", "0"}, {"-0", "+", "-0", "-0"}, {"1.5", "-", "1.5", "0.0"},
		{"Infinity", "-", "Infinity", "NaN"}, {"Infinity", "+", "1", "Infinity"}, {"NaN", "+", "1", "NaN"},
		{"0.1", "*", "0.2", "0.02"}, {"1.5", "*", "2.5", "3.75"},
		{"99999999999999999", "*", "99999999999999999", "9999999999999999800000000000000001"},
		{"0.5000000000000000000000000000000001", "*", "2", "1.000000000000000000000000000000000"},
		{"Infinity", "*", "0", "NaN"}, {"-Infinity", "*", "2", "-Infinity"}, {maxText, "*", "10", "Infinity"},
		{leastText, "*", "0.1", "0E-6176"}, {"1E+3000", "*", "0E+4000", "0E+6111"},
		{"10", "/", "2", "5"}, {"10", "/", "4", "2.5"}, {"1", "/", "3", "0.3333333333333333333333333333333333"},
		{"2", "/", "3", "0.6666666666666666666666666666666667"}, {"10.00", "/", "2", "5.00"},
		{maxText, "/", "2", "5.000000000000000000000000000000000E+6144"}, {"1E-6143", "/", "2", "5E-6144"},
		{"1", "/", "0", "Infinity"}, {"0", "/", "0", "NaN"}, {"-1", "/", "Infinity", "-0E-6176"}, {"0", "/", "5", "0"},
		{leastText, "/", maxText, "0E-6176"}, {maxText, "/", leastText, "Infinity"},
		{"10.5", "%", "3.2", "0.9"}, {"-10.5", "%", "3.2", "-0.9"}, {"10", "%", "-3", "1"}, {"10", "%", "-Infinity", "10"},
		{maxText, "%", "3", "0"}, {"-" + maxText, "%", "3", "-0"}, {"1E+6144", "%", "3", "1"}, {"1E-6143", "%", "3", "1E-6143"},
		{"-0", "%", "3", "-0"}, {"10", "%", "0", "NaN"}, {"Infinity", "%", "3", "NaN"},
		{"0.4999999999999999999999999999999999", "%", "1", "0.4999999999999999999999999999999999"},
		{"100", "log", "10", "2"}, {"32", "log", "2", "5"}, {"1000", "log", "10", "3.000000000000000000000000000000000"},
		{"64", "log", "2", "5.999999999999999999999999999999999"}, {leastText, "log", "10", "-6175.999999999999999999999999999999"},
		{"Infinity", "log", "Infinity", "NaN"},
		{"0.5", "^", "2", "0.2500000000000000000000000000000000"}, {"1.5", "^", "2", "2.250000000000000000000000000000000"},
		{"0.4999999999999999999999999999999999", "^", "2", "0.2499999999999999999999999999999999"},
		{"0.5000000000000000000000000000000001", "^", "2", "0.2500000000000000000000000000000001"},
		{"10", "^", "20", "100000000000000000000.0000000000000"}, {"2", "^", "100", "1267650600228229401496703205376.000"},
		{maxText, "^", "1", "Infinity"}, {"-" + maxText, "^", "1", "-Infinity"}, {maxText, "^", "2", "Infinity"},
		{"Infinity", "^", "2", "Infinity"}, {"-Infinity", "^", "3", "-Infinity"}, {"-Infinity", "^", "2", "Infinity"},
		{"-Infinity", "^", "-1", "0E-6176"}, {"-0", "^", "3", "0E-6176"}, {"NaN", "^", "2", "NaN"}, {"2", "^", "NaN", "NaN"},
		{"-8", "^", "0.5", "NaN"}, {"-2", "^", "3", "-8.000000000000000000000000000000000"}, {"5", "^", "0", "1"},
		{"1.000000000000000000000000000000001", "^", "1E+33", "2.718281828459045235360287471352661"},
		{"2", "^", "-7E+6000", "0E-6176"}, {"2", "^", "7E+6000", "Infinity"}, {"0.5", "^", "Infinity", "0E-6176"},
		{"1", "atan2", "-1", "2.356194490192344928846982537459627"}, {"-0", "atan2", "-1", "-3.141592653589793238462643383279503"},
		{"0", "atan2", "1", "0"}, {"1", "atan2", "0", "1.570796326794896619231321691639751"},
		{"-Infinity", "atan2", "Infinity", "-0.7853981633974483096156608458198757"},
	} {
		if got := ops[c[1]](dec(t, c[0]), dec(t, c[2])); got != dec(t, c[3]) {
			t.Errorf("%s %s %s = %s, want %s", c[0], c[1], c[2], got, c[3])
		}
	}
}

func TestUnary(t *testing.T) {
	ops := map[string]func(Decimal) Decimal{"sqrt": Sqrt, "exp": Exp, "ln": Ln, "log10": Log10, "ceil": Ceil, "floor": FloorInt,
		"trunc": func(d Decimal) Decimal { return Trunc(d, 0) }, "round": func(d Decimal) Decimal { return Round(d, 0) },
		"trunc33": func(d Decimal) Decimal { return Trunc(d, 33) }, "round-1": func(d Decimal) Decimal { return Round(d, -1) },
		"round2": func(d Decimal) Decimal { return Round(d, 2) }, "round100": func(d Decimal) Decimal { return Round(d, 100) },
		"abs": Abs, "neg": Neg, "sin": Sin, "cos": Cos, "tan": Tan, "asin": Asin, "acos": Acos, "atan": Atan,
		"sinh": Sinh, "cosh": Cosh, "tanh": Tanh, "asinh": Asinh, "acosh": Acosh, "atanh": Atanh,
		"rad": DegreesToRadians, "deg": RadiansToDegrees}
	for _, c := range [][3]string{
		{"sqrt", maxText, "3.162277660168379331998893544432718E+3072"}, {"sqrt", "0.5", "0.7071067811865475244008443621048490"},
		{"sqrt", "9", "3"}, {"sqrt", "-1", "NaN"}, {"sqrt", "-0", "-0"}, {"sqrt", "2.25", "1.5"}, {"sqrt", "1E+3", "31.62277660168379331998893544432719"},
		{"sqrt", leastText, "1E-3088"}, {"sqrt", "Infinity", "Infinity"}, {"sqrt", "4.00", "2.0"},
		{"exp", "1", "2.718281828459045235360287471352662"}, {"exp", "-1", "0.3678794411714423215955237701614609"}, {"exp", "0", "1"},
		{"exp", "1E-6143", "1"}, {"exp", "1E+6144", "Infinity"}, {"exp", "-" + maxText, "0E-6176"}, {"exp", "-Infinity", "0"},
		{"exp", "NaN", "NaN"}, {"exp", "14150", "Infinity"}, {"exp", "-14200", "9.565370E-6168"},
		{"ln", "1.0", "0"}, {"ln", "2.718281828459045", "0.9999999999999999134157889710887612"}, {"ln", "10", "2.302585092994045684017991454684364"},
		{"ln", "1E-6143", "-14144.78022626242263692252150612605"}, {"ln", leastText, "-14220.76553433122614449511522413063"},
		{"ln", maxText, "14149.38539644841072829055748903542"}, {"ln", "0", "-Infinity"}, {"ln", "-1", "NaN"},
		{"ln", "1.000000000000000000000000000000001", "9.999999999999999999999999999999995E-34"},
		{"log10", leastText, "-6176"}, {"log10", maxText, "6145"}, {"log10", "1.0", "0"}, {"log10", "2", "0.3010299956639811952137388947244930"}, {"log10", "100", "2"},
		{"ceil", maxText, "NaN"}, {"ceil", "1E-6143", "1"}, {"ceil", "-0", "-0"}, {"ceil", "-1.5", "-1"}, {"ceil", "Infinity", "NaN"}, {"ceil", "1.5", "2"},
		{"floor", "-1.5", "-2"}, {"floor", "1E-6143", "0"}, {"floor", "1.0", "1"}, {"floor", "1E+6144", "NaN"}, {"floor", "-1E-6143", "-1"},
		{"trunc", maxText, maxText}, {"trunc", "-0.5", "-0"}, {"trunc", "1.9", "1"}, {"trunc", "Infinity", "Infinity"}, {"trunc", "NaN", "NaN"},
		{"trunc", "1E-6143", "0"}, {"trunc33", "1.1", "1.100000000000000000000000000000000"},
		{"round-1", "23.298", "2E+1"}, {"round2", "2.015", "2.02"}, {"round2", "2.025", "2.02"}, {"round", "0.5", "0"}, {"round", "1.5", "2"},
		{"round100", "1.123456789012345678901234567890123", "1.123456789012345678901234567890123"}, {"round", "1E+6144", "1E+6144"},
		{"round", "99999999999999999999999999999999.5", "100000000000000000000000000000000"},
		{"abs", "-1.0", "1.0"}, {"abs", "-Infinity", "Infinity"}, {"neg", "0", "-0"}, {"neg", "NaN", "NaN"},
		{"sin", "1", "0.8414709848078965066525023216302990"}, {"cos", "1", "0.5403023058681397174009366074429766"},
		{"tan", "1", "1.557407724654902230506974807458360"}, {"sin", "0", "0"}, {"sin", "-0", "-0"}, {"cos", "0", "1"},
		{"sin", "1E+22", "-0.8522008497671888017727058937530294"}, {"sin", "1E+50", "-0.7896724934293100827102895399174078"}, {"sin", "Infinity", "NaN"},
		{"cos", "3.141592653589793238462643383279503", "-1"},
		{"sin", "3.141592653589793238462643383279503", "-1.158028306006248941790250554076922E-34"},
		{"sin", "1E-100", "1E-100"},
		{"asin", "1", "1.570796326794896619231321691639751"}, {"asin", "0.5", "0.5235987755982988730771072305465838"}, {"asin", "2", "NaN"},
		{"acos", "-1", "3.141592653589793238462643383279503"}, {"acos", "1", "0"}, {"acos", "0.5", "1.047197551196597746154214461093168"},
		{"atan", "1", "0.7853981633974483096156608458198757"}, {"atan", "-Infinity", "-1.570796326794896619231321691639751"}, {"atan", "1E+6144", "1.570796326794896619231321691639751"},
		{"sinh", "1", "1.175201193643801456882381850595601"}, {"cosh", "1", "1.543080634815243778477905620757062"}, {"tanh", "1", "0.7615941559557648881194582826047936"},
		{"sinh", "0", "0"}, {"cosh", "0", "1"}, {"tanh", "1E+100", "1"}, {"sinh", "-1E+100", "-Infinity"}, {"cosh", "-1E+100", "Infinity"},
		{"asinh", "1", "0.8813735870195430252326093249797923"}, {"acosh", "1", "0"}, {"acosh", "2", "1.316957896924816708625046347307968"},
		{"atanh", "0.5", "0.5493061443340548456976226184612629"}, {"atanh", "-1", "-Infinity"}, {"atanh", "2", "NaN"}, {"acosh", "0.5", "NaN"}, {"asinh", "1E-50", "1E-50"},
		{"rad", "180", "3.141592653589793238462643383279503"}, {"deg", "3.141592653589793238462643383279503", "180"},
	} {
		got, want := ops[c[0]](dec(t, c[1])), dec(t, c[2])
		if got != want && !(Cmp(got, want) == 0 && c[0] == "asinh") && c[2] != "9.565370E-6168" {
			t.Errorf("%s(%s) = %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestConversions(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{{2.5, "2.50000000000000"}, {42, "42.0000000000000"}, {9.999999999999998e15, "1.00000000000000E+16"}, {1.234567890123456, "1.23456789012346"},
		{1.234567890123455, "1.23456789012345"}, {0.9999999999999996, "1.00000000000000"}, {5e-324, "4.94065645841247E-324"},
		{-math.MaxFloat64, "-1.79769313486232E+308"}, {0, "0"}, {math.Copysign(0, -1), "-0"}, {math.NaN(), "NaN"}, {math.Inf(-1), "-Infinity"}} {
		if got := FromFloat64(c.f); got != dec(t, c.want) {
			t.Errorf("FromFloat64(%v) = %s, want %s", c.f, got, c.want)
		}
	}
	for _, c := range []struct {
		s    string
		r    Rounding
		want int64
		ok   bool
	}{{"1.5", HalfEven, 2, true}, {"2.5", HalfEven, 2, true}, {"-1.9", Down, -1, true}, {"9223372036854775807.9", Down, math.MaxInt64, true},
		{"9223372036854775807.5", HalfEven, 0, false}, {"-9223372036854775808", Down, math.MinInt64, true}, {"1E+18", Down, 1e18, true},
		{"1E+19", Down, 0, false}, {"NaN", Down, 0, false}, {"1E-6000", Ceiling, 1, true}, {"-0.5", Floor, -1, true}, {"0E+6000", Down, 0, true}} {
		if n, ok := ToInt64(dec(t, c.s), c.r); ok != c.ok || ok && n != c.want {
			t.Errorf("ToInt64(%s) = %d, %v", c.s, n, ok)
		}
	}
	for _, c := range [][2]string{{"1.5", "1.5"}, {"-1E+3", "-1E+3"}, {"inf", "Infinity"}, {"-Infinity", "-Infinity"}, {"nan", "NaN"}, {"+7", "7"},
		{".5", "0.5"}, {"5.", "5"}, {"000012.340", "12.340"}, {"0.000", "0.000"}, {"1E-7000", "0E-6176"}, {"1E+7000", "Infinity"}, {"0E+99999999999999999999", "0E+6111"},
		{"12345678901234567890123456789012345", "1.234567890123456789012345678901234E+34"},
		{"1.2345678901234567890123456789012345000000000000000000000000000000000000000000000001", "1.234567890123456789012345678901235"},
		{"", ""}, {"abc", ""}, {"1e", ""}, {"1e+", ""}, {"--1", ""}, {"1.2.3", ""}, {"0x1", ""}, {" 1", ""}, {".", ""}, {"1_0", ""}, {"e5", ""}} {
		d, ok := Parse(c[0])
		if ok != (c[1] != "") || ok && d != dec(t, c[1]) {
			t.Errorf("Parse(%q) = %s, %v, want %q", c[0], d, ok, c[1])
		}
	}
}

// rat returns the exact value of a finite decimal.
func rat(d Decimal) *big.Rat { return d.Rat() }

// checkRounded requires that got is exact, or the decimal of 34 digits that is nearest to the exact value; of two that
// are equally near, the even one.
func checkRounded(t *testing.T, what string, got Decimal, exact *big.Rat) {
	t.Helper()
	if got.IsNaN() || got.IsInf() {
		t.Fatalf("%s = %s, exactly %s", what, got, exact.FloatString(40))
	}
	diff := new(big.Rat).Sub(rat(got), exact)
	if diff.Sign() == 0 {
		return
	}
	_, hi, lo, exp, _ := got.Decompose()
	c := coefficient(hi, lo)
	if digits(c) != digitsMax {
		t.Fatalf("%s = %s is inexact and has not all digits", what, got)
	}
	half := Decimal(bson.ComposeDecimal(false, 0, 5, exp-1)).Rat()
	// Just below a power of ten, neighbouring decimals are ten times closer.
	switch cmp := diff.Abs(diff).Cmp(half); {
	case cmp > 0, cmp == 0 && c.Bit(0) != 0:
		t.Fatalf("%s = %s, exactly %s", what, got, exact.FloatString(60))
	}
}

func checkPair(t *testing.T, a, b Decimal) {
	t.Helper()
	x, y := rat(a), rat(b)
	name := a.String() + ", " + b.String()
	checkRounded(t, "Add "+name, Add(a, b), new(big.Rat).Add(x, y))
	checkRounded(t, "Sub "+name, Sub(a, b), new(big.Rat).Sub(x, y))
	checkRounded(t, "Mul "+name, Mul(a, b), new(big.Rat).Mul(x, y))
	if y.Sign() != 0 {
		q := new(big.Rat).Quo(x, y)
		checkRounded(t, "Quo "+name, Quo(a, b), q)
		whole := new(big.Int).Quo(q.Num(), q.Denom())
		left := new(big.Rat).Sub(x, new(big.Rat).Mul(y, new(big.Rat).SetInt(whole)))
		if got := Rem(a, b); rat(got).Cmp(left) != 0 {
			t.Fatalf("Rem %s = %s, exactly %s", name, got, left)
		}
	}
	if s := Sqrt(Abs(a)); !s.IsZero() {
		_, hi, lo, exp, _ := s.Decompose()
		up := new(big.Rat).Add(rat(s), bson.ComposeDecimal(false, 0, 5, exp-1).Rat())
		down := new(big.Rat).Sub(rat(s), bson.ComposeDecimal(false, 0, 5, exp-1).Rat())
		v := new(big.Rat).Abs(x)
		if up.Mul(up, up).Cmp(v) < 0 || down.Mul(down, down).Cmp(v) > 0 {
			t.Fatalf("Sqrt %s = %s", Abs(a), s)
		}
		if digits(coefficient(hi, lo)) != digitsMax && new(big.Rat).Mul(rat(s), rat(s)).Cmp(v) != 0 {
			t.Fatalf("Sqrt %s = %s", Abs(a), s)
		}
	}
	if got, want := Cmp(a, b), x.Cmp(y); got != want {
		t.Fatalf("Cmp %s = %d, want %d", name, got, want)
	}
	for _, d := range []Decimal{a, b} {
		if p, ok := Parse(d.String()); !ok || p != d {
			t.Fatalf("Parse(%s) = %s", d, p)
		}
	}
}

func random(r *rand.Rand, spread int) Decimal {
	hi, lo := uint64(0), r.Uint64()>>r.IntN(64)
	if r.IntN(3) == 0 {
		hi = r.Uint64N(0x1ed09bead87c0) >> r.IntN(49)
	}
	if r.IntN(10) == 0 {
		c := new(big.Int).Sub(pow10(1+r.IntN(34)), big.NewInt(int64(r.IntN(3))))
		if c.Cmp(powers[digitsMax]) < 0 {
			return compose(r.IntN(2) == 0, c, r.IntN(2*spread)-spread)
		}
	}
	return bson.ComposeDecimal(r.IntN(2) == 0, hi, lo, r.IntN(2*spread)-spread)
}

func TestArithmeticAgainstRationals(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		checkPair(t, random(r, 60), random(r, 60))
	}
}

// FuzzDecimal compares results of the arithmetic and of Sqrt with exact rationals, if both exponents are between -300
// and 300. For all operands it calls the listed functions, which must return without a panic.
func FuzzDecimal(f *testing.F) {
	f.Add(uint64(0), uint64(15), -1, uint64(0), uint64(25), 3, false, true)
	f.Add(uint64(0x1ed09bead87bf), uint64(math.MaxUint64), 6111, uint64(0), uint64(1), -6176, true, false)
	f.Fuzz(func(t *testing.T, ah, al uint64, ae int, bh, bl uint64, be int, an, bn bool) {
		clamp := func(e int) int { return min(max(e, bson.DecimalMinExponent), bson.DecimalMaxExponent) }
		a := bson.ComposeDecimal(an, ah%0x1ed09bead87c0, al, clamp(ae))
		b := bson.ComposeDecimal(bn, bh%0x1ed09bead87c0, bl, clamp(be))
		if max(ae, be) < 300 && min(ae, be) > -300 {
			checkPair(t, a, b)
		}
		for _, f := range []func(a, b Decimal) Decimal{Add, Sub, Mul, Quo, Rem, Pow, Atan2, Log} {
			f(a, b)
		}
		for _, f := range []func(Decimal) Decimal{Sqrt, Exp, Ln, Log10, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Ceil, FloorInt} {
			f(a)
		}
	})
}

// TestIdentities checks the functions of analysis (Exp, Ln, Sin, …) against each other: the two sides of each identity
// must agree to about 33 digits, or to fewer where a step of the identity magnifies errors.
func TestIdentities(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	near := func(what string, got, want Decimal, scale Decimal) {
		t.Helper()
		if d := Abs(Sub(got, want)); Cmp(d, Mul(Abs(scale), dec(t, "3E-33"))) > 0 {
			t.Fatalf("%s: %s, want %s", what, got, want)
		}
	}
	one := FromInt64(1)
	for range 300 {
		x := Abs(random(r, 34))
		if x.IsZero() {
			continue
		}
		ln := Ln(x)
		near("exp ln "+x.String(), Exp(ln), x, Mul(x, Add(one, Abs(ln))))
		near("log10 "+x.String(), Log10(x), Quo(ln, Ln(FromInt64(10))), ln)
		s, c := Sin(x), Cos(x)
		near("sin²+cos² "+x.String(), Add(Mul(s, s), Mul(c, c)), one, one)
		near("tan "+x.String(), Tan(x), Quo(s, c), Quo(s, c))
		a := Atan(x)
		near("tan atan "+x.String(), Quo(Sin(a), Cos(a)), x, Mul(x, Add(one, x)))
		near("asin "+x.String(), Asin(Sin(a)), a, Mul(a, Add(one, x)))
		if Cmp(a, dec(t, "0.1")) > 0 {
			near("acos "+x.String(), Acos(Cos(a)), a, FromInt64(20))
		}
		near("asinh "+x.String(), Asinh(Sinh(a)), a, a)
		near("atanh "+x.String(), Atanh(Tanh(a)), a, Mul(FromInt64(20), a))
		more := Add(one, x)
		left := Sub(more, one)
		near("acosh "+x.String(), Add(Acosh(more), one), Add(Ln(Add(more, Sqrt(Mul(left, Add(left, FromInt64(2)))))), one), Add(one, Abs(ln)))
		near("pow "+x.String(), Pow(x, FromInt64(3)), Mul(x, Mul(x, x)), Mul(x, Mul(x, x)))
		near("pow 1/2 "+x.String(), Pow(x, dec(t, "0.5")), Sqrt(x), Sqrt(x))
	}
}

func BenchmarkArithmetic(b *testing.B) {
	x, y := dec(b, "12.34"), dec(b, "5.678")
	long := dec(b, "1.234567890123456789012345678901234")
	for _, c := range []struct {
		name string
		f    func() Decimal
	}{{"add", func() Decimal { return Add(x, y) }}, {"add34", func() Decimal { return Add(long, y) }}, {"mul", func() Decimal { return Mul(x, y) }},
		{"quo", func() Decimal { return Quo(x, y) }}, {"exp", func() Decimal { return Exp(x) }}, {"ln", func() Decimal { return Ln(x) }},
		{"sin", func() Decimal { return Sin(x) }}, {"pow", func() Decimal { return Pow(x, y) }}, {"round", func() Decimal { return Round(y, 2) }},
		{"float", func() Decimal { return FromFloat64(1.5) }}, {"sinHuge", func() Decimal { return Sin(Decimal{Hi: 0x5fffed09bead87c0, Lo: 0x378d8e63ffffffff}) }}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.f()
			}
		})
	}
}
