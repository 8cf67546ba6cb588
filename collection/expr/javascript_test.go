package expr

import (
	"context"
	"errors"
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
		"/(?=(a+)+b)/.test('aaaa')",
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
		"new RegExp('(?' + '=a)')",
		"'aaaa'.match('(a+)' + String.fromCharCode(92) + '1')",
		"require('fs')",
		"function() { var s = 'x', a = []; for (;;) { s += s; a.push(s + a.length) } }",
		"throw new Error('no')",
	} {
		if got := runScript(t, t.Context(), source); !strings.Contains(got, "JSInterpreterFailure") && !strings.Contains(got, "ExceededMemoryLimit") {
			t.Errorf("%s: %.200s", source, got)
		}
	}
}
