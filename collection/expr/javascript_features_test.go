package expr

import (
	"os"
	"strings"
	"testing"
)

// scriptFeatures are the rows of docs/javascript.md: what server-side JavaScript has and what it lacks, each with a
// script that returns true if that is so. beyond is a script that exceeds the bound of the row, and fails.
var scriptFeatures = []struct{ what, here, holds, beyond string }{
	{"classes, generators, destructuring, template strings, `Map`, `Set`, `Symbol`, `Reflect`, promises", "there",
		"function() { class A { static f() { return `x${1}` } } var [a, {b}] = [1, {b: 2}]; return A.f() + a + b + new Map([[1, 2]]).get(1) + new Set([1]).size + Reflect.has({c: 1}, 'c') + typeof Symbol() + typeof Promise === 'x11221truesymbolfunction' }", ""},
	{"regular expressions: look-ahead and look-behind, back-references, named groups, flags `g`, `i`, `m`, `s`, `u`, `y`, `\\p{…}` with `u`", "there; a match that takes more than some 8 million steps is an error, a pattern has at most 16384 characters",
		"function() { return /(?<a>b)(?=c)/.exec('bc').groups.a === 'b' && /\\p{Lu}/u.test('É') }", "/(a+)+b/.test('a'.repeat(60))"},
	{"`sort` of arrays", "as MongoDB's engine: values are exchanged if the comparator's result is greater than 0, so that a boolean will do",
		"function() { return [3, 1, 2].sort(function(a, b) { return a > b }).join() === '1,2,3' }", ""},
	{"arrays, `flat`, `flatMap`", "up to 16 million elements",
		"function() { return [1, [2, [3]]].flat().length === 3 && [1].flatMap(function(x) { return [x, x] }).length === 2 }", "Array.prototype.map.call({length: 4e9}, x => x)"},
	{"strings from `repeat`, `padStart`, `padEnd`, `join`, `replace`", "up to 16 million characters", "function() { return 'ab'.repeat(2) === 'abab' }", "'x'.repeat(1e9)"},
	{"typed arrays, `ArrayBuffer`, `DataView`", "up to 1048576 elements or bytes each", "function() { return new Uint8Array([1, 257])[1] === 1 }", "new Uint8Array(1e7)"},
	{"`BigInt`, literals such as `10n`, `BigInt64Array`", "absent: their arithmetic has no bound; use `NumberLong` or `NumberDecimal`", "function() { return typeof BigInt === 'undefined' }", "1n"},
	{"`Proxy`, `Atomics`, `SharedArrayBuffer`", "absent", "function() { return typeof Proxy + typeof Atomics + typeof SharedArrayBuffer === 'undefinedundefinedundefined' }", ""},
	{"`eval`, `Function` with a text", "absent: code comes from the command alone", "function() { return typeof eval === 'undefined' }", "Function('return 1')()"},
	{"`Intl`, modules, files, network", "absent", "function() { return typeof Intl + typeof require === 'undefinedundefined' }", "require('fs')"},
	{"`ObjectId`, `NumberLong`, `NumberInt`, `NumberDecimal`, `Timestamp`, `BinData`, `UUID`, `HexData`, `MD5`, `MinKey`, `MaxKey`, `DBRef`, `ISODate`", "there",
		"function() { return NumberLong(5) + 1 === 6 && ISODate('2020-01-01').getUTCFullYear() === 2020 && new ObjectId().str.length === 24 && typeof UUID + typeof DBRef === 'functionfunction' }", ""},
	{"`tojson`, `tojsononeline`", "as the shell prints: `{ \"a\" : 1 }`", "function() { return tojson({a: 1}) === '{ \"a\" : 1 }' }", ""},
	{"`print`, `printjson`", "without effect", "function() { return print('x') === undefined }", ""},
}

// TestScriptFeatures runs the scripts of each row, and requires that docs/javascript.md has the row.
func TestScriptFeatures(t *testing.T) {
	page, err := os.ReadFile("../../docs/javascript.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range scriptFeatures {
		if row := "| " + f.what + " | " + f.here + " |\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/javascript.md lacks the row %s", row)
		}
		if got := runScript(t, t.Context(), f.holds); got != "true" {
			t.Errorf("%s: %s", f.what, got)
		}
		if f.beyond == "" {
			continue
		}
		if got := runScript(t, t.Context(), f.beyond); !strings.Contains(got, "JSInterpreterFailure") {
			t.Errorf("%s: %s: %s", f.what, f.beyond, got)
		}
	}
}
