package expr_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// argumentNames are the names of arguments of all operators.
var argumentNames = []string{"input", "in", "as", "cond", "vars", "if", "then", "else", "branches", "default", "case", "initialValue",
	"date", "unit", "binSize", "timezone", "startOfWeek", "startDate", "endDate", "amount", "format", "dateString", "onError", "onNull",
	"year", "month", "day", "hour", "isoWeekYear", "isoWeek", "to", "byteOrder", "base", "find", "replacement", "regex", "options", "chars",
	"field", "value", "n", "arrayIndexAs", "valueAs", "algorithm", "sortBy", "inputs", "defaults", "useLongestLength", "limit", "iso8601", "p", "method"}

var scalars = []string{"null", "undefined", "true", "false", "0", "1", "-1", "2", "31", "-2147483648", "NumberLong(\"9223372036854775807\")",
	"NumberLong(\"-9223372036854775808\")", "0.5", "-0.0", "NaN", "Infinity", "-Infinity", "1e308", "Decimal128(\"1.5\")", "Decimal128(\"NaN\")",
	"Decimal128(\"1E+6000\")", `""`, `"a"`, `"é😀x"`, `"$a"`, `"$b"`, `"$b.c"`, `"$$this"`, `"$$value"`, `"$$ROOT"`, `"$$x"`, `"$$IDX"`, `"$$i"`, `"$$sofar"`, `"md5"`, `"xxh64"`, `"$$REMOVE"`, `"day"`, `"week"`,
	`"UTC"`, `"Europe/Paris"`, `"%Y-%m-%d"`, `"2020-01-02T03:04:05Z"`, `"int"`, `"string"`, `"(a+)+"`, "[]", "[1, \"a\", null]", "{}", "{x: 1}",
	"ISODate(\"2020-02-29T12:34:56.789Z\")", "Timestamp(1, 2)", "ObjectId(\"0123456789abcdef01234567\")", "/a.b/i", "BinData(0, \"AQID\")",
	"MinKey", "MaxKey", "{$date: {$numberLong: \"9223372036854775807\"}}", "{$date: {$numberLong: \"-9223372036854775808\"}}"}

// randomValue appends a random operand of an expression: a scalar, or an operator with operands, most often
// with valid argument names.
func randomValue(r *rand.Rand, b *bson.Builder, name string, depth int, parsed []bson.Value, forms map[string][]string) {
	if depth <= 0 || r.IntN(4) == 0 {
		b.Value(name, parsed[r.IntN(len(parsed))])
		return
	}
	op := expr.Operators[r.IntN(len(expr.Operators))]
	for slices.Contains([]string{"$function", "$rand", "$createObjectId", "$createUUID"}, op.Name) {
		op = expr.Operators[r.IntN(len(expr.Operators))]
	}
	b.BeginDoc(name)
	switch form := forms[op.Name]; {
	case form != nil && r.IntN(8) > 0:
		b.BeginDoc(op.Name)
		for _, n := range form {
			switch {
			case r.IntN(6) == 0:
			case n == "as":
				b.String(n, "x")
			case n == "valueAs":
				b.String(n, "sofar")
			case n == "arrayIndexAs":
				b.String(n, "i")
			case n == "vars":
				b.BeginDoc(n)
				randomValue(r, b, "x", depth-1, parsed, forms)
				b.End()
			case n == "branches":
				b.BeginArray(n)
				b.BeginDoc("")
				randomValue(r, b, "case", depth-1, parsed, forms)
				randomValue(r, b, "then", depth-1, parsed, forms)
				b.End()
				b.End()
			case n == "inputs" || n == "defaults":
				b.BeginArray(n)
				for range r.IntN(3) {
					randomValue(r, b, "", depth-1, parsed, forms)
				}
				b.End()
			default:
				randomValue(r, b, n, depth-1, parsed, forms)
			}
		}
		if r.IntN(10) == 0 {
			randomValue(r, b, argumentNames[r.IntN(len(argumentNames))], depth-1, parsed, forms)
		}
		b.End()
	case r.IntN(8) == 0:
		randomValue(r, b, op.Name, depth-1, parsed, forms)
	default:
		b.BeginArray(op.Name)
		n := op.Min
		if op.Max > n {
			n += r.IntN(op.Max - n + 1)
		} else if op.Max < 0 || r.IntN(10) == 0 {
			n = r.IntN(4)
		}
		for range n {
			randomValue(r, b, "", depth-1, parsed, forms)
		}
		b.End()
	}
	b.End()
}

// Random expressions neither panic nor return an internal error, and their printed form evaluates to the same
// value.
func TestRandomTrees(t *testing.T) {
	forms := map[string][]string{
		"$map": {"input", "as", "arrayIndexAs", "in"}, "$filter": {"input", "as", "arrayIndexAs", "cond", "limit"},
		"$reduce": {"input", "initialValue", "as", "valueAs", "arrayIndexAs", "in"}, "$hash": {"input", "algorithm"}, "$hexHash": {"input", "algorithm"},
		"$let": {"vars", "in"}, "$switch": {"branches", "default"}, "$cond": {"if", "then", "else"}, "$zip": {"inputs", "useLongestLength", "defaults"},
		"$top": {"input", "sortBy"}, "$topN": {"n", "input", "sortBy"}, "$bottom": {"input", "sortBy"}, "$bottomN": {"n", "input", "sortBy"},
		"$sortArray": {"input", "sortBy"}, "$dateTrunc": {"date", "unit", "binSize", "timezone", "startOfWeek"},
		"$dateAdd": {"startDate", "unit", "amount", "timezone"}, "$dateSubtract": {"startDate", "unit", "amount", "timezone"},
		"$dateDiff": {"startDate", "endDate", "unit", "timezone", "startOfWeek"}, "$dateToString": {"date", "format", "timezone", "onNull"},
		"$dateFromString": {"dateString", "format", "timezone", "onError", "onNull"}, "$dateToParts": {"date", "timezone", "iso8601"},
		"$dateFromParts": {"year", "month", "day", "hour", "timezone"}, "$convert": {"input", "to", "onError", "onNull", "format"},
		"$regexMatch": {"input", "regex", "options"}, "$regexFind": {"input", "regex"}, "$regexFindAll": {"input", "regex"},
		"$trim": {"input", "chars"}, "$ltrim": {"input", "chars"}, "$rtrim": {"input", "chars"},
		"$replaceOne": {"input", "find", "replacement"}, "$replaceAll": {"input", "find", "replacement"},
		"$getField": {"field", "input"}, "$setField": {"field", "input", "value"}, "$unsetField": {"field", "input"},
		"$firstN": {"n", "input"}, "$lastN": {"n", "input"}, "$minN": {"n", "input"}, "$maxN": {"n", "input"},
		"$median": {"input", "method"}, "$percentile": {"input", "p", "method"},
	}
	var parsed []bson.Value
	for _, s := range scalars {
		v := bsontest.Value(t, s)
		parsed = append(parsed, v)
	}
	doc := bsontest.Doc(t, `{a: 5, b: {c: [1, 2.5, "x", {d: null}]}, s: "text"}`)
	env := newEnv(t.Context())
	env.Vars.Set(env.Vars.Declare("x"), parsed[5])
	env.Vars.Set(env.Vars.Declare("this"), parsed[41])
	env.Vars.Set(env.Vars.Declare("value"), parsed[15])
	evaluated := 0
	for seed := range uint64(40000) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := bson.NewBuilder(nil)
		randomValue(r, b, "v", 4, parsed, forms)
		v := b.Doc().Get("v")
		e, err := expr.Parse(env, v)
		if err != nil {
			if mongoerr.CodeOf(err) == mongoerr.InternalError {
				t.Fatalf("seed %d: %s: %v", seed, ejson.ValueString(v), err)
			}
			continue
		}
		evaluated++
		var s, s2 expr.Scratch
		x, err := e.Eval(env, doc, &s)
		if err != nil && mongoerr.CodeOf(err) == mongoerr.InternalError {
			t.Fatalf("seed %d: %s: %v", seed, ejson.ValueString(v), err)
		}
		if err == nil {
			// A computed value is well-formed.
			check := bson.NewBuilder(nil)
			check.Value("v", x)
			if _, err := bson.Parse(check.Doc(), bson.Limits{}); err != nil && !errors.Is(err, bson.ErrTooDeep) {
				t.Fatalf("seed %d: %s: %v", seed, ejson.ValueString(v), err)
			}
		}
		again, err2 := expr.Parse(env, printOf(e))
		if err2 != nil && mongoerr.CodeOf(err2) == mongoerr.CodeOf(err) {
			continue // folding found the error of the evaluation
		}
		if err2 != nil {
			t.Fatalf("seed %d: %s prints as %s: %v", seed, ejson.ValueString(v), ejson.ValueString(printOf(e)), err2)
		}
		y, err2 := again.Eval(env, doc, &s2)
		if mongoerr.CodeOf(err) != mongoerr.CodeOf(err2) || err == nil && !x.Identical(y) {
			t.Fatalf("seed %d: %s gives %s, %v; printed as %s it gives %s, %v", seed, ejson.ValueString(v),
				ejson.ValueString(x), err, ejson.ValueString(printOf(e)), ejson.ValueString(y), err2)
		}
	}
	if evaluated < 4000 {
		t.Errorf("only %d trees parsed", evaluated)
	}
}
