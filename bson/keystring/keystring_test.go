package keystring_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/keystring"
)

// TestVectors compares the keystrings of values of many types with recorded bytes: they are stored on disk, so they
// must never change.
func TestVectors(t *testing.T) {
	for _, c := range [][2]string{
		{`1`, "137ff0"}, {`-1`, "11800f"}, {`0`, "12"}, {`42`, "13814580"},
		{`1.5`, "137ff8"}, {`-1.5`, "118007"}, {`0.1`, "137fb9cd673399cd6734"},
		{`NumberLong("9223372036854775807")`, "1387dfffffffffffffff1f52b92f4b2949ab5f97a18c"},
		{`Decimal128("12.34")`, "13812957858faf0b1f5d1f411944"},
		{`"a\u0000b"`, "206100ff620001"}, {`[1, "x"]`, "30137ff02078000100"}, {`{a: 1}`, "28106100137ff000"},
		{`MinKey`, "05"}, {`undefined`, "08"}, {`null`, "0a"}, {`NaN`, "10"}, {`Decimal128("NaN")`, "10"},
		{`true`, "49"}, {`false`, "48"}, {`MaxKey`, "f0"}, {`Symbol("x")`, "20780001"},
		{`ObjectId("0102030405060708090a0b0c")`, "400102030405060708090a0b0c"},
		{`BinData(5, "AQI=")`, "3800000002050102"},
		{`Timestamp(1, 2)`, "580000000100000002"},
		{`{"$date": {"$numberLong": "1"}}`, "508000000000000001"},
		{`/a/i`, "6061006900"}, {`Code("x")`, "70780001"},
		{`{"$code": "x", "$scope": {a: 1}}`, "78780001106100137ff000"},
		{`{"$dbPointer": {"$ref": "x", "$id": {"$oid": "0102030405060708090a0b0c"}}}`, "680000000e78000102030405060708090a0b0c"},
		{`Infinity`, "13fff0"}, {`-Infinity`, "11000f"},
	} {
		got := hex.EncodeToString(keystring.Append(nil, bsontest.Value(t, c[0]), keystring.Ascending, nil, nil))
		if got != c[1] {
			t.Errorf("%s\n got %s\nwant %s", c[0], got, c[1])
		}
	}
}

// checkText checks that Text returns the text of a string or symbol from its ascending and descending keystring, and none
// of another value.
func checkText(t *testing.T, v bson.Value, up, down []byte, o bson.StringOrder) {
	t.Helper()
	want, isText := v.Text()
	isText = isText && (v.Type == bson.TypeString || v.Type == bson.TypeSymbol)
	var buf []byte
	for i, key := range [][]byte{up, down} {
		text, reused, ok := keystring.Text(key, []keystring.Dir{keystring.Ascending, keystring.Descending}[i], buf)
		if buf = reused; ok != isText || ok && o == nil && !bytes.Equal(text, want) {
			t.Fatalf("%s: text %q %v", ejson.ValueCanonical(v), text, ok)
		}
	}
}

// check checks for a pair of values: their keystrings compare as the values do, ascending, and the other way round
// descending; none is a prefix of the other; they lie within the bounds of their classes; Skip finds their ends, and
// Decode returns the values.
func check(t *testing.T, a, b bson.Value, o bson.StringOrder) {
	t.Helper()
	var ta, tb keystring.TypeBits
	x := keystring.Append(nil, a, keystring.Ascending, o, &ta)
	y := keystring.Append(nil, b, keystring.Ascending, o, &tb)
	want := bson.Compare(a, b, o)
	if got := bytes.Compare(x, y); got != want {
		t.Fatalf("%s and %s compare %d, keys %x and %x compare %d", ejson.ValueCanonical(a), ejson.ValueCanonical(b), want, x, y, got)
	}
	if want != 0 && (bytes.HasPrefix(x, y) || bytes.HasPrefix(y, x)) {
		t.Fatalf("a prefix: %x, %x", x, y)
	}
	dx := keystring.Append(nil, a, keystring.Descending, o, nil)
	checkText(t, a, x, dx, o)
	dy := keystring.Append(nil, b, keystring.Descending, o, nil)
	if got := bytes.Compare(dx, dy); got != -want {
		t.Fatalf("descending %x and %x compare %d, want %d", dx, dy, got, -want)
	}
	lo, hi := keystring.ClassBounds(a.Type.Class(), keystring.Ascending)
	if x[0] < lo || x[0] >= hi {
		t.Fatalf("%x outside of its class %x..%x", x, lo, hi)
	}
	if lo, hi := keystring.ClassBounds(a.Type.Class(), keystring.Descending); dx[0] < lo || dx[0] >= hi {
		t.Fatalf("%x outside of its class %x..%x", dx, lo, hi)
	}
	// Round trip of the compound key (a ascending, b descending).
	var bits keystring.TypeBits
	key := keystring.Append(nil, a, keystring.Ascending, o, &bits)
	n, err := keystring.Skip(append(key, 0x37), keystring.Ascending)
	if err != nil || n != len(key) {
		t.Fatalf("Skip(%x) = %d, %v", key, n, err)
	}
	m := len(key)
	key = keystring.Append(key, b, keystring.Descending, o, &bits)
	if n, err := keystring.Skip(key[m:], keystring.Descending); err != nil || n != len(key)-m {
		t.Fatalf("Skip(%x) descending = %d, %v", key[m:], n, err)
	}
	out := bson.NewArrayBuilder(nil)
	rest, err := keystring.Decode(out, key, []keystring.Dir{keystring.Ascending, keystring.Descending}, bits.Bytes())
	if err != nil || len(rest) != 0 {
		t.Fatalf("Decode(%x, %x): %v", key, bits.Bytes(), err)
	}
	arr := out.Doc()
	for i, v := range []bson.Value{a, b} {
		if got, _ := arr.Index(i); !sameValue(got, v) {
			t.Fatalf("%s came back as %s (key %x, bits %x)", ejson.ValueCanonical(v), ejson.ValueCanonical(got), key, bits.Bytes())
		}
	}
}

// sameValue reports whether two values are identical, except for the payload of NaN and for the form of
// non-canonical decimals.
func sameValue(a, b bson.Value) bool {
	return a.Identical(b) || a.Type == b.Type && ejson.ValueCanonical(canonical(a)) == ejson.ValueCanonical(canonical(b))
}

// canonical returns v with all decimals in the canonical form. Non-canonical decimals count as zero, but the driver
// prints them differently.
func canonical(v bson.Value) bson.Value {
	out := bson.NewArrayBuilder(nil)
	appendCanonical(out, "", v)
	v, _ = out.Doc().Index(0)
	return v
}

func appendCanonical(b *bson.Builder, name string, v bson.Value) {
	switch v.Type {
	case bson.TypeDecimal128:
		d, _ := v.Decimal()
		if neg, hi, lo, exp, kind := d.Decompose(); kind == bson.DecimalFinite {
			d = bson.ComposeDecimal(neg, hi, lo, exp)
		}
		var a bson.Arena
		b.Value(name, a.Decimal(d))
	case bson.TypeDocument, bson.TypeArray:
		if v.Type == bson.TypeArray {
			b.BeginArray(name)
		} else {
			b.BeginDoc(name)
		}
		for field, w := range bson.Raw(v.Data).Fields() {
			appendCanonical(b, string(field), w)
		}
		b.End()
	default:
		b.Value(name, v)
	}
}

var edgeInts = []int64{0, 1, -1, 2, 10, 42, 127, 128, 255, 1 << 24, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1,
	1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<53 + 2, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 62, 1e18}

var edgeDecimals = []string{"0", "-0", "0E+10", "-0E-6176", "1", "1.0", "1E+3", "1000", "-1.5", "0.1", "0.10", "12.34",
	"9007199254740993", "9007199254740993.0", "9223372036854775807", "9223372036854775808", "1E-6176", "9.999999999999999999999999999999999E+6144",
	"-1E+6144", "1.7976931348623157E+308", "1.7976931348623158E+308", "1.797693134862315807E+308", "4.9E-324", "5E-324", "1E-330",
	"0.1000000000000000055511151231257827", "Infinity", "-Infinity", "NaN", "123456789012345E+20", "1E+22", "1E+23", "3E-22", "3E-23"}

// gen makes random values, often at the limits of encodings.
type gen struct {
	*rand.Rand
	arena bson.Arena
	decs  []bson.Decimal128
}

func newGen(seed uint64) *gen {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 7))}
	for _, s := range edgeDecimals {
		d, err := bson.ParseDecimal(s)
		if err != nil {
			panic(s)
		}
		g.decs = append(g.decs, d)
	}
	return g
}

func (g *gen) number() bson.Value {
	n := edgeInts[g.IntN(len(edgeInts))]
	switch g.IntN(4) {
	case 0:
		n = int64(g.IntN(200) - 100)
	case 1:
		n = int64(g.Uint64()) >> g.IntN(64)
	}
	switch g.IntN(12) {
	case 0, 1, 2:
		return g.arena.Int32(int32(n))
	case 3, 4, 5:
		return g.arena.Int64(n)
	case 6:
		return g.arena.Double(float64(n))
	case 7:
		return g.arena.Double(float64(n) / 100)
	case 8:
		return g.arena.Double(math.Float64frombits(g.Uint64()))
	case 9:
		return g.arena.Decimal(g.decs[g.IntN(len(g.decs))])
	case 10:
		hi, lo := uint64(0), g.Uint64()>>g.IntN(64)
		if g.IntN(2) == 0 {
			hi = g.Uint64N(0x1ed09bead87c0) >> g.IntN(49)
		}
		exp := g.IntN(80) - 45
		if g.IntN(10) == 0 {
			exp = g.IntN(bson.DecimalMaxExponent-bson.DecimalMinExponent) + bson.DecimalMinExponent
		}
		return g.arena.Decimal(bson.ComposeDecimal(g.IntN(2) == 0, hi, lo, exp))
	}
	// A decimal close or equal to a double.
	f := float64(n)/8 + float64(g.IntN(3))
	r := bson.ComposeDecimal(f < 0, 0, uint64(math.Abs(f)*1000)&(1<<60-1), -3)
	return g.arena.Decimal(r)
}

func (g *gen) text() string {
	const alphabet = "\x00\x00\x01\xffabAé"
	b := make([]byte, g.IntN(5))
	for i := range b {
		b[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(b)
}

func (g *gen) name() string { return strings.ReplaceAll(g.text(), "\x00", "\x01") }

func (g *gen) value(depth int) bson.Value {
	switch k := g.IntN(26); {
	case k < 10:
		return g.number()
	case k < 13:
		v := g.arena.String(g.text())
		if k == 10 {
			v.Type = bson.TypeSymbol
		}
		return v
	case k < 15 && depth > 0:
		return g.arena.Doc(func(b *bson.Builder) {
			for range g.IntN(4) {
				b.Value(g.name(), g.value(depth-1))
			}
		})
	case k < 17 && depth > 0:
		vs := make([]bson.Value, g.IntN(4))
		for i := range vs {
			vs[i] = g.value(depth - 1)
		}
		return g.arena.Array(vs)
	case k == 17:
		return g.arena.Binary(byte(g.IntN(3)), []byte(g.text()))
	case k == 18:
		var id [12]byte
		id[g.IntN(12)] = byte(g.Uint32())
		return g.arena.ObjectID(id)
	case k == 19:
		return bson.Bool(g.IntN(2) == 0)
	case k == 20:
		return g.arena.DateTime(edgeInts[g.IntN(len(edgeInts))])
	case k == 21:
		return g.arena.Timestamp(g.Uint32()>>g.IntN(32), g.Uint32()>>g.IntN(32))
	case k == 22:
		return g.arena.Regex(g.name(), []string{"", "i", "im", "x"}[g.IntN(4)])
	case k == 23:
		v := g.arena.String(g.text())
		v.Type = bson.TypeCode
		return v
	case k == 24:
		code := g.arena.String(g.text()).Data
		scope := g.arena.Doc(func(b *bson.Builder) { b.Value(g.name(), g.number()) }).Data
		d := binary.LittleEndian.AppendUint32(nil, uint32(4+len(code)+len(scope)))
		return bson.Value{Type: bson.TypeCodeScope, Data: append(append(d, code...), scope...)}
	case k == 25:
		ns := g.arena.String(g.name()).Data
		return bson.Value{Type: bson.TypeDBPointer, Data: append(ns[:len(ns):len(ns)], "0123456789ab"...)}
	}
	return []bson.Value{bson.Null, bson.MinKey, bson.MaxKey, {Type: bson.TypeUndefined}}[g.IntN(4)]
}

// near returns a random value, in a third of the calls close to v, so that pairs of values also differ in late bytes.
func (g *gen) near(v bson.Value) bson.Value {
	switch {
	case g.IntN(3) > 0:
		return g.value(2)
	case v.IsNumber():
		f, _ := v.AsFloat()
		n, ok := v.AsInt64()
		switch g.IntN(6) {
		case 0:
			return g.arena.Double(f)
		case 1:
			return g.arena.Double(math.Nextafter(f, math.Inf(1)))
		case 2:
			return g.arena.Double(math.Nextafter(f, math.Inf(-1)))
		case 3:
			if ok {
				return g.arena.Int64(n)
			}
		case 4:
			if ok {
				return g.arena.Int64(n + 1)
			}
		}
		if d, err := bson.ParseDecimal(ejsonNumber(f)); err == nil {
			return g.arena.Decimal(d)
		}
	case v.Type == bson.TypeDocument:
		return g.arena.Doc(func(b *bson.Builder) {
			for name, w := range bson.Raw(v.Data).Fields() {
				if g.IntN(4) == 0 {
					w = g.near(w)
				}
				b.ValueBytes(name, w)
			}
		})
	case v.Type == bson.TypeArray:
		var vs []bson.Value
		for w := range bson.Raw(v.Data).Values() {
			if g.IntN(4) == 0 {
				w = g.near(w)
			}
			vs = append(vs, w)
		}
		return g.arena.Array(vs)
	}
	return v
}

func ejsonNumber(f float64) string {
	return strings.Trim(strings.TrimPrefix(ejson.ValueString(new(bson.Arena).Double(f)), `{"$numberDouble":`), `"}`)
}

func TestOrderAndRoundTrip(t *testing.T) {
	pairs := 250_000
	if testing.Short() {
		pairs = 20_000
	}
	g := newGen(1)
	for i := range pairs {
		if i%1000 == 0 {
			g.arena.Reset()
		}
		a := g.value(3)
		check(t, a, g.near(a), nil)
	}
}

// folded is a collation for tests that ignores ASCII case; its sort keys contain zero bytes, which must be escaped.
type folded struct{}

func (folded) AppendKey(dst, s []byte) []byte {
	dst = append(dst, bytes.ToLower(s)...)
	return append(dst, 0, 0)
}

func (f folded) CompareText(a, b []byte) int {
	return bytes.Compare(f.AppendKey(nil, a), f.AppendKey(nil, b))
}

func TestOrderWithCollation(t *testing.T) {
	g := newGen(2)
	for i := range 30_000 {
		if i%1000 == 0 {
			g.arena.Reset()
		}
		a := g.value(2)
		check(t, a, g.near(a), folded{})
	}
}

func TestCommonTypesNeedNoTypeBits(t *testing.T) {
	for _, s := range []string{`1`, `1.5`, `1e300`, `"x"`, `{a: 1, b: "x"}`, `NumberLong("9223372036854775807")`, `Decimal128("12.34")`} {
		var tb keystring.TypeBits
		keystring.Append(nil, bsontest.Value(t, s), keystring.Ascending, nil, &tb)
		if len(tb.Bytes()) != 0 {
			t.Errorf("%s needs %x", s, tb.Bytes())
		}
	}
}

// FuzzKeystring takes two documents, compares them and all pairs of their fields by value and by encoding, and
// decodes arbitrary bytes.
func FuzzKeystring(f *testing.F) {
	for _, s := range []string{`{}`, `{a: 1, b: 1.5, c: "x"}`, `{a: [1, {b: 2}], b: null, c: Decimal128("1.50")}`, `{a: /x/, b: Code("x"), c: BinData(3, "AQI="), d: NumberLong("9007199254740993")}`} {
		d, _ := bsontest.Value(f, s).Doc()
		f.Add([]byte(d), []byte(d))
	}
	f.Fuzz(func(t *testing.T, x, y []byte) {
		for _, dir := range []keystring.Dir{keystring.Ascending, keystring.Descending} {
			if n, err := keystring.Skip(x, dir); err == nil && (n <= 0 || n > len(x)) {
				t.Fatalf("Skip(%x) = %d", x, n)
			}
			out := bson.NewArrayBuilder(nil)
			if _, err := keystring.Decode(out, x, []keystring.Dir{dir}, y); err == nil {
				out.Doc().Depth() // well-formed enough to be walked
			}
		}
		a, err := bson.Parse(x, bson.Limits{Depth: 100})
		if err != nil {
			return
		}
		b, err := bson.Parse(y, bson.Limits{Depth: 100})
		if err != nil {
			return
		}
		check(t, a.Value(), b.Value(), nil)
		for _, v := range a.Fields() {
			for _, w := range b.Fields() {
				check(t, v, w, nil)
			}
		}
	})
}
