package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// runScript calls source with ejson arguments and prints the result.
func runScript(t *testing.T, ctx context.Context, source string, args ...string) string {
	t.Helper()
	env := mql.NewEnv(ctx)
	c, err := CompileScript(mql.NewEnv(t.Context()), source)
	if err != nil {
		return "compile: " + mongoerr.CodeOf(err).String()
	}
	vm, err := NewVM()
	if err != nil {
		t.Fatal(err)
	}
	var vs []bson.Value
	for _, a := range args {
		v := bsontest.Value(t, a)
		vs = append(vs, v)
	}
	var a bson.Arena
	v, err := vm.Call(env, c, &a, bson.Value{}, vs...)
	if err != nil {
		var e *mongoerr.Error
		if errors.As(err, &e) {
			return e.Code.String() + ": " + e.Msg
		}
		return err.Error()
	}
	return ejson.ValueCanonical(v)
}

// numbers returns the canonical text of a list of doubles without fractions.
func numbers(list ...int) string {
	var parts []string
	for _, n := range list {
		parts = append(parts, fmt.Sprintf(`{"$numberDouble":"%d.0"}`, n))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func TestScriptValues(t *testing.T) {
	for _, c := range []struct{ source, arg, want string }{
		{"function(x) { return x + 1 }", "1", `{"$numberDouble":"2.0"}`},
		{"x => x * 2", "2.5", `{"$numberDouble":"5.0"}`},
		{"(x) => ({a: x, b: [1]})", "null", `{"a":null,"b":[{"$numberDouble":"1.0"}]}`},
		{"function(x) { return x }", `NumberLong("9007199254740993")`, `{"$numberLong":"9007199254740993"}`},
		{"function(x) { return x + 1 }", `NumberLong(41)`, `{"$numberDouble":"42.0"}`},
		{"function(x) { return x }", `ObjectId("0123456789abcdef01234567")`, `{"$oid":"0123456789abcdef01234567"}`},
		{"function(x) { return x.str + x.toString() }", `ObjectId("0123456789abcdef01234567")`, `"0123456789abcdef01234567ObjectId(\"0123456789abcdef01234567\")"`},
		{"function(x) { return x.getTime() }", `ISODate("1970-01-01T00:00:01Z")`, `{"$numberDouble":"1000.0"}`},
		{"function(x) { return new Date(5) }", `1`, `{"$date":{"$numberLong":"5"}}`},
		{"function(x) { return x }", `Decimal128("1.50")`, `{"$numberDecimal":"1.50"}`},
		{"function(x) { return NumberDecimal('2.5') }", `1`, `{"$numberDecimal":"2.5"}`},
		{"function(x) { return NumberInt(7) }", `1`, `{"$numberInt":"7"}`},
		{"function(x) { return new NumberLong('12') }", `1`, `{"$numberLong":"12"}`},
		{"function(x) { return x.map(function(s) { return ISODate(s).getTime() }) }",
			`["2020-02-03", "20200203T0405", "2020-02-03T04:05:06", "2020-02-03 04:05:06.0789Z", "2020-02-03T04:05:06-01:30", "0001-01-01"]`,
			`[{"$numberDouble":"1.580688E+12"},{"$numberDouble":"1.5807027E+12"},{"$numberDouble":"1.580702706E+12"},{"$numberDouble":"1.580702706078E+12"},{"$numberDouble":"1.580708106E+12"},{"$numberDouble":"-6.21355968E+13"}]`},
		{"function(x) { return x.filter(function(s) { try { ISODate(s); return true } catch (e) { return e.message !== 'invalid ISO date: ' + s } }) }",
			`["nope", "2020-13-01", "2020-01-32", "2020-01-01T24", "2020-01-01T00:60", "2020", " 2020-01-01", "12020-01-01"]`, `[]`},
		{"function(x) { return x }", `BinData(0, "AQI=")`, `{"$binary":{"base64":"AQI=","subType":"00"}}`},
		{"function(x) { return x }", `/a/i`, `{"$regularExpression":{"pattern":"a","options":"i"}}`},
		{"function(x) { return x }", `Timestamp(1, 2)`, `{"$timestamp":{"t":1,"i":2}}`},
		{"function(x) { return x }", `MinKey`, `{"$minKey":1}`},
		{"function(x) { return x.a.b[1] }", `{a: {b: [1, "y"]}}`, `"y"`},
		{"function() { }", `1`, `{"$undefined":true}`},
		{"return 3", `1`, `{"$numberDouble":"3.0"}`},
		{"1 + 2;", `1`, `{"$numberDouble":"3.0"}`},
		{"var a = 4; return a", `1`, `{"$numberDouble":"4.0"}`},
		{"function(x) { return JSON.stringify({a: [1, 'x'], b: null, c: undefined}) }", `1`, `"{\"a\":[1,\"x\"],\"b\":null}"`},
		{"function(x) { return JSON.parse('{\"a\": [1]}').a[0] }", `1`, `{"$numberDouble":"1.0"}`},
		{"function(x) { return 'a-b'.replace(/-/, '+') + 'a,b'.split(',').length }", `1`, `"a+b2"`},
		{"function(x) { return hex_md5('a') }", `1`, `"0cc175b9c0f1b6a831c399e269772661"`},
		{"// c\nfunction(x) { return x }", `1`, `{"$numberDouble":"1.0"}`},
		{"/* a\n b */ // c\n x => x + 1", `1`, `{"$numberDouble":"2.0"}`},
		{"// only this\n 7 // and that", `1`, `{"$numberDouble":"7.0"}`},
		{"var a = 4; a > 3", `1`, `true`},
		{"var a = 4;\na + 1;\n", `1`, `{"$numberDouble":"5.0"}`},
		{"function f(x) { return x } f(6)", `1`, `{"$numberDouble":"6.0"}`},
		{"if (true) { return 2 }", `1`, `{"$numberDouble":"2.0"}`},
		{"function(x) { return Object.bsonsize(x) }", `{a: 1.5}`, `{"$numberDouble":"16.0"}`},
		{"function(x) { return Array.unique(x) }", `[1, "1", 1, {a: 1}, {a: 1}]`, `[{"$numberDouble":"1.0"},"1",{"a":{"$numberDouble":"1.0"}}]`},
		{"function(x) { var fn = 1, can = 2; /* an */ return 'Dan been en' + fn + can + {dn: '(?=', a: '\\1'}.dn }", `1`, `"Dan been en12(?="`},
		{`function(x) { return x.replace(/\B(?=(\d{3})+(?!\d))/g, ',') }`, `"1234567"`, `"1,234,567"`},
		{`function(x) { return x.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-') }`, `"Ünï Çode 5€"`, `"ünï-çode-5-"`},
		{`function(x) { var m = /(?<y>\d{4})-(?<m>\d\d)/.exec(x); return [m.groups.y, m.groups.m, m.index, m[0]] }`, `"in 2024-05"`, `["2024","05",{"$numberDouble":"3.0"},"2024-05"]`},
		{`function(x) { return [/(a)\1/.test(x), /(?<=\$)\d+/.exec(x)[0], /(?<!\d)c/.test(x), x.search(/\d/)] }`, `"aa $12c"`, `[true,"12",false,{"$numberDouble":"4.0"}]`},
		{`function(x) { return x.split(/(-)|,/) }`, `"a-b,c"`, `["a","-","b",{"$undefined":true},"c"]`},
		{`function(x) { return [x.split(/(?:)/), x.split(/,/, 1), ''.split(/a?/), 'ab'.split(/(?:)/u)] }`, `"x,y"`, `[["x",",","y"],["x"],[],["a","b"]]`},
		{`function(x) { return x.match(/./gu).concat(x.match(/./g).length, x.replace(/é/, 'e$&$1'), /\u{1F600}/u.exec(x).index) }`, `"aé😀b"`,
			`["a","é","😀","b",{"$numberDouble":"5.0"},"aeé$1😀b",{"$numberDouble":"2.0"}]`},
		{`function(x) { return [/(?:(a)|b)*/.exec(x)[1] === undefined, /\k<a>(?<a>x)?/.test(x), /^[^]{2}$/.test(x), /[]/.test(x), /^b$/m.test("a\nb\n")] }`, `"ab"`, `[true,true,true,false,true]`},
		{`function(x) { var r = /a/y, out = [r.test(x), r.lastIndex, r.test(x), r.lastIndex]; return out.concat(Array.from(x.matchAll(/(?<c>[ab])/g)).map(function(m) { return m.groups.c + m.index })) }`, `"aba"`,
			`[true,{"$numberDouble":"1.0"},false,{"$numberDouble":"0.0"},"a0","b1","a2"]`},
		{`function(x) { return x.replace(/(?<first>\w+) (\w+)/, '$2 $<first>').replace(/o/g, function(m, at) { return at }) }`, `"foo bar"`, `"bar f56"`},
		{"function(x) { return x.sort(function(a, b) { return a > b }) }", `[3, 1, 2, 5, 4]`, numbers(1, 2, 3, 4, 5)},
		{"function(x) { return x.sort(function(a, b) { return a < b }) }", `[3, 1, 2]`, numbers(3, 2, 1)},
		{"function(x) { return x.sort(function(a, b) { return a - b }).concat([10, 9].sort()) }", `[3, 1, 2]`, numbers(1, 2, 3, 10, 9)},
		{"function(x) { return x.sort(function(a, b) { return NaN }) }", `[3, 1, 2]`, numbers(3, 1, 2)},
		{"function(x) { var a = [3, undefined, , 1]; a.sort(function(a, b) { return a - b }); return [a.length, 2 in a, 3 in a, a[0], a[1]] }", `1`,
			`[{"$numberDouble":"4.0"},true,false,{"$numberDouble":"1.0"},{"$numberDouble":"3.0"}]`},
		{"function(x) { return x.map(function(v, i) { return {k: v % 2, i: i} }).sort(function(a, b) { return a.k - b.k }).map(function(v) { return v.i }) }",
			`[1, 2, 3, 4]`, numbers(1, 3, 0, 2)},
		{"function(x) { return x.flat() }", `[1, [2, [3]]]`, `[{"$numberDouble":"1.0"},{"$numberDouble":"2.0"},[{"$numberDouble":"3.0"}]]`},
		{"function(x) { return x.flat(Infinity).concat([[4]].flat(0)[0], [, 5].flat()) }", `[1, [2, [3]]]`, numbers(1, 2, 3, 4, 5)},
		{"function(x) { return x.flatMap(function(v, i) { return v > 1 ? [v, i] : v }) }", `[1, 2]`, numbers(1, 2, 1)},
		{"function(x) { var a = new Uint8Array([1, 300]), b = Float64Array.from(x), c = new Int16Array(new ArrayBuffer(4)); c[1] = 7; " +
			"return [a[1], b[0], c[1], c.length, new Uint8Array(c.buffer)[2], a instanceof Uint8Array, b.map(function(v) { return v + 1 })[0], new DataView(c.buffer).getInt16(2, true)] }", `[1.5]`,
			`[{"$numberDouble":"44.0"},{"$numberDouble":"1.5"},{"$numberDouble":"7.0"},{"$numberDouble":"2.0"},{"$numberDouble":"7.0"},true,{"$numberDouble":"2.5"},{"$numberDouble":"7.0"}]`},
		{"function(x) { return Array.prototype.slice.call(new Uint8Array(new Set([3, 1, 2])).sort(function(a, b) { return a < b })) }", `1`, numbers(3, 2, 1)},
		{"function(x) { return tojson(x) }", `{a: 1, b: [1, "x", null, true], c: {}, d: []}`, `"{ \"a\" : 1, \"b\" : [ 1, \"x\", null, true ], \"c\" : { }, \"d\" : [ ] }"`},
		{"function(x) { return tojson(x) + tojson('a') + tojson(undefined) + tojson([1.5]) }", `1`, `"1\"a\"undefined[ 1.5 ]"`},
		{"function(x) { return tojson(x) }", `[ObjectId("0123456789abcdef01234567"), ISODate("2020-01-02T03:04:05Z"), ISODate("2020-01-02T03:04:05.070Z")]`,
			`"[\n\tObjectId(\"0123456789abcdef01234567\"),\n\tISODate(\"2020-01-02T03:04:05Z\"),\n\tISODate(\"2020-01-02T03:04:05.070Z\")\n]"`},
		{"function(x) { return tojson(x) + tojson(/a/i) + tojson(NumberLong(5)) + tojson(DBRef('c', 1)) }", `{a: MinKey, b: Timestamp(1, 2)}`,
			`"{ \"a\" : { \"$minKey\" : 1 }, \"b\" : Timestamp(1, 2) }/a/iNumberLong(5)DBRef(\"c\", 1)"`},
		{"function(x) { return tojson(x) }", `{a: "0123456789012345678901234567890123456789", b: {c: [1, 2], d: "0123456789012345678901234567890"}}`,
			`"{\n\t\"a\" : \"0123456789012345678901234567890123456789\",\n\t\"b\" : {\n\t\t\"c\" : [\n\t\t\t1,\n\t\t\t2\n\t\t],\n\t\t\"d\" : \"0123456789012345678901234567890\"\n\t}\n}"`},
		{"function(x) { return tojsononeline(x) }", `{a: "0123456789012345678901234567890123456789", b: {c: [1, 2], d: "0123456789012345678901234567890"}}`,
			`"{ \"a\" : \"0123456789012345678901234567890123456789\", \"b\" : { \"c\" : [ 1, 2 ], \"d\" : \"0123456789012345678901234567890\" } }"`},
		{"function(x) { return Array.shuffle(x).sort() }", `[3, 1, 2]`, `[{"$numberDouble":"1.0"},{"$numberDouble":"2.0"},{"$numberDouble":"3.0"}]`},
		{"function(x) { return Array.stdDev(x) }", `[1, 3]`, `{"$numberDouble":"1.0"}`},
		{"function(x) { var r = new DBRef('c', x); return [r, DBRef('c', x, 'd'), r.getCollection(), r.getId()] }", `1`,
			`[{"$ref":"c","$id":{"$numberDouble":"1.0"}},{"$ref":"c","$id":{"$numberDouble":"1.0"},"$db":"d"},"c",{"$numberDouble":"1.0"}]`},
		{"function(x) { return MD5(hex_md5('a')) }", `1`, `{"$binary":{"base64":"DMF1ucDxtqgxw5niaXcmYQ==","subType":"05"}}`},
		{"function(x) { return ' a '.ltrim() + '|' + ' a '.rtrim() + '|' + String.trim(' a ') + '|' + String.ltrim(' b') }", `1`, `"a | a|a|b"`},
		{"function(x) { gc(); return Object.merge({a: 1}, {b: x}) }", `1`, `{"a":{"$numberDouble":"1.0"},"b":{"$numberDouble":"1.0"}}`},
		{"function(x) { assert.eq({a: 1}, {a: x}); assert.neq(x, 2); assert.lt(x, 2); assert.isnull(null); return assert.throws(function() { doassert('no') }).message }", `1`, `"no"`},
		{"function(x) { try { assert.eq(x, 2, 'what') } catch (e) { return e.message } }", `1`, `"1 is not equal to 2 : what"`},
	} {
		if got := runScript(t, t.Context(), c.source, c.arg); got != c.want {
			t.Errorf("%s of %s: got %s, want %s", c.source, c.arg, got, c.want)
		}
	}
}

// Date in scripts is the server's clock: it advances while a script runs, and stands still if the clock does.
func TestScriptTime(t *testing.T) {
	const source = "function() { var a = Date.now(), b = new Date(), c = ISODate(); return [a, b - a, c - b] }"
	for step, want := range map[time.Duration]string{0: `[5000,0,0]`, 7 * time.Millisecond: `[5007,7,7]`} {
		now := time.UnixMilli(5000)
		env := mql.NewEnv(t.Context())
		env.NowMillis = 5000
		env.Clock = func() time.Time { now = now.Add(step); return now }
		vm, err := NewVM()
		if err != nil {
			t.Fatal(err)
		}
		if err := vm.serve(env); err != nil {
			t.Fatal(err)
		}
		c, err := CompileScript(mql.NewEnv(t.Context()), source)
		if err != nil {
			t.Fatal(err)
		}
		var a bson.Arena
		v, err := vm.Call(env, c, &a, bson.Value{})
		if got := ejson.ValueString(v); err != nil || strings.ReplaceAll(got, ".0", "") != want {
			t.Errorf("a clock that goes on by %v: %s, %v, want %s", step, got, err, want)
		}
	}
}

// Scripts must not be able to harm the server: each of these scripts, except a sleep of 2 ms, soon ends with an error.
func TestScriptLimits(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if got := runScript(t, ctx, "function() { for (;;) {} }"); got != context.DeadlineExceeded.Error() {
		t.Errorf("endless loop: %s", got)
	}
	if got := runScript(t, ctx, "function() { sleep(1e9); return 1 }"); got != context.DeadlineExceeded.Error() {
		t.Errorf("endless sleep: %s", got)
	}
	if got := runScript(t, t.Context(), "function() { var from = Date.now(); sleep(-1); sleep(2); return Date.now() - from >= 2 }"); got != "true" {
		t.Errorf("sleep: %s", got)
	}
	for _, source := range []string{
		strings.Repeat("(", 1000),
		strings.Repeat("!", 70000) + "1",
		strings.Repeat("(", 20000) + "1" + strings.Repeat(")", 20000),
		"2n ** 1000000000n",
		"function( {",
	} {
		if got := runScript(t, t.Context(), source); got != "compile: JSInterpreterFailure" {
			t.Errorf("%.30s: %s", source, got)
		}
	}
	for _, source := range []string{
		"function f() { return f() + 1 }",
		"'x'.repeat(1e9)",
		"'a'.repeat(1e6).replace(/a/g, 'b'.repeat(1e6))",
		"new Array(1e6).join('x'.repeat(1e6))",
		"new Array(4e9).unshift(1)",
		"Array.prototype.map.call({length: 4e9}, x => x)",
		"JSON.parse('['.repeat(1e6))",
		"function() { var a = []; for (var i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a) }",
		"function() { var a = []; for (var i = 0; i < 1e4; i++) a = [a]; return String(a) }",
		"function() { var a = []; for (var i = 0; i < 1e4; i++) a = [a]; return a }",
		"function() { var a = {}; a.a = a; return a }",
		"eval('1')",
		"Function('return 1')()",
		"(function(){}).constructor('return 1')()",
		"Object.getPrototypeOf(function*(){}).constructor('return 1')()",
		"/([\\S]+)+\\d/.test('a'.repeat(60))", "/^(?=(a+)+c)b/.test('a'.repeat(60))", "/(a+)+b/.exec('a'.repeat(60))",
		"function() { var r = /(a+)+b/g; r.lastIndex = 1; return r.exec('a'.repeat(60)) }", "'a'.repeat(60).replace(/(a+)+b/, '')",
		"require('fs')",
		"new Uint8Array(1e9)", "new Float64Array({length: 1e9})", "new ArrayBuffer(1e9)",
		"Uint8Array.from({length: 1e9})", "new (new Uint8Array(1)).constructor(1e9)", "new Uint8Array({valueOf: 0, get length() { return 1e9 }})",
		"Uint8Array(1)", "BigInt(1)", "new BigInt64Array(1)", "new DataView(new ArrayBuffer(8)).getBigInt64(0)",
		"function() { var a = [1]; a.push(a); return a.flat(Infinity) }", "[1].flatMap(1)", "[2, 1].sort(1)",
		"Array.prototype.sort.call({length: 4e9}, function(a, b) { return a - b })",
		"function() { var s = 'x', a = []; for (;;) { s += s; a.push(s + a.length) } }",
		"throw new Error('no')",
	} {
		if got := runScript(t, t.Context(), source); !strings.Contains(got, "JSInterpreterFailure") && !strings.Contains(got, "ExceededMemoryLimit") {
			t.Errorf("%s: %.200s", source, got)
		}
	}
}
