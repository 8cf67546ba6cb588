package expr

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// Operators that only this test has: one with positional arguments, one with named arguments.
var (
	opDouble = Operator{Name: "$doubled", Min: 1, Max: 1, Parse: positional(doubled)}
	opClamp  = Operator{Name: "$clamp", Parse: named(&signature{notObject: 1, unknown: 2, fields: []field{{name: "input", missing: 3}, {name: "most", missing: 4}}}, clamp)}
)

func doubled(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	n, ok := a[0].AsInt64()
	if !ok {
		return bson.Value{}, mongoerr.New(mongoerr.TypeMismatch, "$doubled wants a whole number")
	}
	return s.Arena.Int(2 * n), nil
}

func clamp(_ *mql.Env, _ *Scratch, a []bson.Value, _ given) (bson.Value, error) {
	if bson.Compare(a[0], a[1], nil) > 0 {
		return a[1], nil
	}
	return a[0], nil
}

// The definition of an operator is one row of a table: added to a copy of the table, an operator is parsed
// inside of other operators and around them, folded, evaluated, printed, searched for paths, and rejected.
func TestOperatorIsOneRow(t *testing.T) {
	table := append(slices.Clone(Operators), opDouble, opClamp)
	slices.SortFunc(table, func(a, b Operator) int { return strings.Compare(a.Name, b.Name) })
	env, s := mql.NewEnv(context.Background()), &Scratch{}
	parse := func(text string) (Expr, error) {
		v := bsontest.Value(t, text)
		p := parser{env: env, operators: table, quantile: ParseQuantile}
		return p.parse(v)
	}
	doc := bsontest.Doc(t, `{a: 3, b: [1, 2], c: {d: 4}}`)
	for _, tc := range []struct{ text, value, printed, paths string }{
		{`{$doubled: "$a"}`, `6`, `{"$doubled":["$a"]}`, "a"},
		{`{$doubled: ["$c.d"]}`, `8`, `{"$doubled":["$c.d"]}`, "c.d"},
		{`{$doubled: {$doubled: 5}}`, `20`, `{"$const":20}`, ""},
		{`{$add: [{$doubled: "$a"}, {$clamp: {input: "$c.d", most: 2}}]}`, `8`, `{"$add":[{"$doubled":["$a"]},{"$clamp":{"input":"$c.d","most":{"$const":2}}}]}`, "a c.d"},
		{`{$map: {input: "$b", in: {$doubled: "$$this"}}}`, `[2,4]`, `{"$map":{"input":"$b","as":"this","in":{"$doubled":["$$this"]}}}`, "b"},
		{`{$let: {vars: {x: {$doubled: "$a"}}, in: {$clamp: {input: "$$x", most: 5}}}}`, `5`, "", "a"},
		{`{$cond: [{$gt: [{$doubled: "$a"}, 5]}, "yes", "no"]}`, `"yes"`, "", "a"},
		{`{x: {$doubled: "$a"}, y: [{$doubled: 1}]}`, `{"x":6,"y":[2]}`, "", "a"},
		{`{$cond: [true, 1, {$doubled: "x"}]}`, `1`, "", ""},
	} {
		e, err := parse(tc.text)
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		v, err := e.Eval(env, doc, s)
		if got := ejson.ValueString(v); got != tc.value || err != nil {
			t.Errorf("%s is %s, %v, want %s", tc.text, got, err, tc.value)
		}
		b := bson.NewBuilder(nil)
		e.Append(b, "e")
		if got := ejson.ValueString(b.Doc().Get("e")); tc.printed != "" && got != tc.printed {
			t.Errorf("%s is printed as %s, want %s", tc.text, got, tc.printed)
		}
		var paths []string
		e.Paths(func(p string) { paths = append(paths, p) })
		slices.Sort(paths)
		if got := strings.Join(slices.Compact(paths), " "); got != tc.paths {
			t.Errorf("%s reads %q, want %q", tc.text, got, tc.paths)
		}
	}
	for text, want := range map[string]mongoerr.Code{
		`{$doubled: [1, 2]}`: 16020, `{$doubled: "x"}`: mongoerr.TypeMismatch, `{$doubled: 1, a: 1}`: 15983, `{$clamp: 1}`: 1,
		`{$clamp: {input: 1, more: 1}}`: 2, `{$clamp: {most: 1}}`: 3, `{$clamp: {input: {$doubles: 1}, most: 1}}`: mongoerr.InvalidPipelineOperator,
	} {
		if _, err := parse(text); mongoerr.CodeOf(err) != want {
			t.Errorf("%s: %v, want code %d", text, err, want)
		}
	}
}
