package expr_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile"
	"github.com/cantledb/cantle/internal/casefile/show"
)

// newEnv returns the environment in which all cases are evaluated: fixed times, JavaScript enabled.
func newEnv(ctx context.Context) *mql.Env {
	env := mql.NewEnv(ctx)
	env.NowMillis = 1704164645678 // 2024-01-02T03:04:05.678Z
	env.ClusterTime = 1704164645<<32 | 7
	env.JavaScript = true
	return env
}

// evalCase returns the output of a case: the value of its expression for each document, or the error.
func evalCase(t *testing.T, c *casefile.Case) string {
	if c.Verb != "eval" {
		t.Fatalf("unknown verb %q", c.Verb)
	}
	env := newEnv(t.Context())
	env.Release, env.ServerRelease = c.Release(), c.Release()
	if text, ok := c.Get("collation"); ok {
		d, err := ejson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if env.Collation, err = mql.ParseCollation(d.Value()); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range c.All("let") {
		d, err := ejson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range d.Fields() {
			env.Vars.Set(env.Vars.Declare(string(name)), v)
		}
	}
	text, _ := c.Get("expr")
	v, err := ejson.ParseValue(text)
	if err != nil {
		t.Fatalf("%s: %v", c.Position(), err)
	}
	docs := c.All("doc")
	if len(docs) == 0 {
		docs = []string{"{}"}
	}
	e, err := expr.Parse(env, v)
	if err != nil {
		return failure(err)
	}
	// The printed expression must parse as the same expression.
	if printed := printOf(e); printed.Type != bson.TypeMissing {
		again, err := expr.Parse(env, printed)
		if err != nil {
			t.Fatalf("%s: %s does not read back: %v", c.Position(), ejson.ValueString(printed), err)
		}
		if p := printOf(again); !p.Identical(printed) {
			t.Fatalf("%s: prints as %s, then as %s", c.Position(), ejson.ValueString(printed), ejson.ValueString(p))
		}
	}
	var out []string
	var s expr.Scratch
	for _, text := range docs {
		d, err := ejson.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", c.Position(), err)
		}
		s.Reset()
		v, err := e.Eval(env, d, &s)
		if err != nil {
			out = append(out, failure(err))
			continue
		}
		out = append(out, show.Value(v))
	}
	if _, ok := c.Get("paths"); ok {
		var paths []string
		e.Paths(func(p string) { paths = append(paths, strconv.Quote(p)) })
		out = append(out, "paths "+strings.Join(paths, " "))
	}
	return strings.Join(out, "\n")
}

func failure(err error) string {
	var e *mongoerr.Error
	if !errors.As(err, &e) {
		return "error " + err.Error()
	}
	return fmt.Sprintf("error %d %s", e.Code, e.Code)
}

func printOf(e expr.Expr) bson.Value {
	b := bson.NewBuilder(nil)
	e.Append(b, "v")
	return b.Doc().Get("v")
}

func TestCases(t *testing.T) { casefile.Run(t, "testdata", evalCase) }

// snake converts $dateTrunc to date_trunc and $strLenCP to str_len_cp.
func snake(name string) string {
	var b strings.Builder
	name = name[1:]
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			if i > 0 && (name[i-1] < 'A' || name[i-1] > 'Z') {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// The table of operators is sorted by name, which find relies on, and each row is complete.
func TestOperatorsTable(t *testing.T) {
	if !slices.IsSortedFunc(expr.Operators, func(a, b expr.Operator) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("Operators is not in alphabetical order")
	}
	for _, op := range expr.Operators {
		if op.Doc == "" || op.Parse == nil {
			t.Errorf("%s: incomplete row", op.Name)
		}
	}
}

func TestAllocs(t *testing.T) {
	env := newEnv(t.Context())
	doc, err := ejson.Parse(`{_id: 1, a: 5, b: {c: [1, 2, 3], d: "x"}, t: ISODate("2024-05-06T07:08:09Z"), s: "hello"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{$add: ["$a", 1]}`, `"$b.d"`, `{$gt: ["$a", 3]}`, `{$and: [{$eq: ["$b.d", "x"]}, {$lt: ["$a", 9]}]}`,
		`{$cond: [{$gte: ["$a", 5]}, "$s", null]}`, `{$concat: ["$s", "-", "$b.d"]}`, `{$in: ["$a", "$b.c"]}`,
		`{$dateTrunc: {date: "$t", unit: "hour"}}`, `{$year: "$t"}`, `{$multiply: ["$a", 2.5]}`, `{$toUpper: "$s"}`,
		`{$sum: "$b.c"}`, `{$map: {input: "$b.c", in: {$add: ["$$this", "$a"]}}}`, `{$reduce: {input: "$b.c", initialValue: 0, in: {$add: ["$$value", "$$this"]}}}`,
		`{$filter: {input: "$b.c", cond: {$gt: ["$$this", 1]}}}`, `{$let: {vars: {x: "$a"}, in: {$subtract: ["$$x", 1]}}}`,
		`{$regexMatch: {input: "$s", regex: "^h.l+o"}}`, `{x: "$a", y: ["$s", 1]}`, `{$ifNull: ["$nope", "$a"]}`, `{$arrayElemAt: ["$b.c", -1]}`,
	} {
		v, err := ejson.ParseValue(text)
		if err != nil {
			t.Fatal(err)
		}
		e, err := expr.Parse(env, v)
		if err != nil {
			t.Fatal(err)
		}
		var s expr.Scratch
		n := testing.AllocsPerRun(100, func() {
			s.Reset()
			if _, err := e.Eval(env, doc, &s); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// A cancelled command stops inside a long evaluation.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	env := newEnv(ctx)
	v, err := ejson.ParseValue(`{$reduce: {input: {$range: [0, "$n"]}, initialValue: 0, in: {$add: ["$$value", "$$this"]}}}`)
	if err != nil {
		t.Fatal(err)
	}
	e, err := expr.Parse(env, v)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	doc, _ := ejson.Parse("{n: 100000}")
	if _, err := e.Eval(env, doc, &expr.Scratch{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// An expression that would need too much memory, or make a value that nests too deeply, ends with an error.
func TestMemoryLimits(t *testing.T) {
	env := newEnv(t.Context())
	for _, c := range []struct {
		text string
		want mongoerr.Code
	}{
		{`{$size: {$range: [0, 2147483647]}}`, mongoerr.ExceededMemoryLimit},
		{`{$reduce: {input: {$range: [0, 40]}, initialValue: "$s", in: {$concat: ["$$value", "$$value"]}}}`, 16493},
		{`{$reduce: {input: {$range: [0, 60]}, initialValue: ["$s"], in: {$concatArrays: ["$$value", "$$value"]}}}`, mongoerr.ExceededMemoryLimit},
		{`{$reduce: {input: {$range: [0, 5000]}, initialValue: 1, in: ["$$value"]}}`, mongoerr.Overflow},
		{`{$replaceAll: {input: {$reduce: {input: {$range: [0, 20]}, initialValue: "$s", in: {$concat: ["$$value", "$$value"]}}}, find: "x", replacement: "0123456789012345678901234567890123456789"}}`, 16493},
	} {
		v, err := ejson.ParseValue(c.text)
		if err != nil {
			t.Fatal(err)
		}
		doc, _ := ejson.Parse(`{s: "x"}`)
		e, err := expr.Parse(env, v)
		if err == nil {
			_, err = e.Eval(env, doc, &expr.Scratch{})
		}
		if got := mongoerr.CodeOf(err); got != c.want {
			t.Errorf("%s: %v, want %v", c.text, err, c.want)
		}
	}
}

// Expressions nested beyond the limit are rejected, those within it are not.
func TestNestingLimit(t *testing.T) {
	env := newEnv(t.Context())
	for _, c := range []struct {
		levels int
		want   mongoerr.Code
	}{{150, 0}, {300, mongoerr.Overflow}} {
		b := bson.NewBuilder(nil)
		b.BeginDoc("v")
		for range c.levels {
			b.BeginDoc("$abs")
		}
		b.String("$abs", "$a")
		v := b.Doc().Get("v")
		if _, err := expr.Parse(env, v); mongoerr.CodeOf(err) != c.want {
			t.Errorf("%d levels: %v", c.levels, err)
		}
	}
}

// FuzzExpr checks, without $rand and $function, that no expression makes Parse or Eval panic, that a parsed expression
// prints as one that parses, and that both have the same value.
func FuzzExpr(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if e, ok := strings.CutPrefix(line, "expr: "); ok {
				f.Add(e, `{a: 1, b: [1, "x", null], c: {d: 2.5}, s: "text", t: ISODate("2020-01-01")}`)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text, docText string) {
		if strings.Contains(text, "rand") || strings.Contains(text, "unction") {
			return
		}
		v, err := ejson.ParseValue(text)
		if err != nil {
			return
		}
		doc, err := ejson.Parse(docText)
		if err != nil {
			return
		}
		env := newEnv(t.Context())
		e, err := expr.Parse(env, v)
		if err != nil {
			return
		}
		var s, s2 expr.Scratch
		x, err := e.Eval(env, doc, &s)
		printed := printOf(e)
		if printed.Type == bson.TypeMissing {
			return
		}
		again, err2 := expr.Parse(env, printed)
		if err2 != nil {
			t.Fatalf("%s prints as %s, which fails: %v", text, ejson.ValueString(printed), err2)
		}
		y, err2 := again.Eval(env, doc, &s2)
		if mongoerr.CodeOf(err) != mongoerr.CodeOf(err2) || err == nil && !x.Identical(y) {
			t.Fatalf("%s gives %s, %v; printed as %s it gives %s, %v", text, ejson.ValueString(x), err, ejson.ValueString(printed), ejson.ValueString(y), err2)
		}
	})
}
