package match

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// opEven and opUnless are operators that only the tests define: one on a field, and one in place of a field.
var (
	opEven   = Operator{Name: "$even", Where: Field, Parse: parseEven}
	opUnless = Operator{Name: "$unless", Where: Top, Parse: parseUnless}
)

func parseEven(_ *parser, a operand) (Node, error) {
	want, ok := a.value.Boolean()
	if !ok {
		return nil, badValue("$even wants a boolean")
	}
	return newLeaf(a.path, even(want)), nil
}

// even is the predicate of the test's operator $even: it matches whole numbers that are even if true, odd if false.
type even bool

func (e even) name() string { return opEven.Name }

func (e even) holds(_ *mql.Env, v bson.Value, _ *expr.Scratch) (bool, error) {
	n, ok := v.AsInt64()
	return ok && n%2 == 0 == bool(e), nil
}

func (e even) append(b *bson.Builder) { b.Bool(opEven.Name, bool(e)) }

func (e even) bounds(add func(Interval)) (exact bool) {
	add(classBounds(bson.TypeInt64))
	return false
}

func (e even) shape(dst []byte) []byte   { return append(dst, opEven.Name...) }
func (e even) reasons() (no, yes string) { return "was odd", "was even" }
func (e even) sameForEqual() bool        { return true }

func parseUnless(p *parser, a operand) (Node, error) {
	d, ok := a.value.Doc()
	if !ok {
		return nil, badValue("$unless wants a filter")
	}
	n, err := p.filter(d)
	return &Nor{list: []Node{n}}, err
}

// newOperators returns a parser with the two new operators.
func newOperators(env *mql.Env) *parser {
	p := newParser(env)
	p.operators = append(slices.Clone(p.operators), opEven, opUnless)
	slices.SortFunc(p.operators, func(a, b Operator) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// ParseNew is Parse with the two new operators of the tests, for tests outside of the package.
func ParseNew(env *mql.Env, filter bson.Raw) (Node, error) { return newOperators(env).filter(filter) }

func parseNew(t *testing.T, filter string) Node {
	t.Helper()
	n, err := ParseNew(mql.NewEnv(context.Background()), bsontest.Doc(t, filter))
	if err != nil {
		t.Fatal(filter, err)
	}
	return n
}

// TestOperatorIsOneRow requires that one row in a copy of the table adds an operator: it is parsed on fields, in $not,
// $elemMatch and logical operators, and in conditions, it matches there, and it is refused elsewhere.
func TestOperatorIsOneRow(t *testing.T) {
	env, s := mql.NewEnv(context.Background()), &expr.Scratch{}
	for _, tc := range []struct{ filter, yes, no string }{
		{`{a: {$even: true}}`, `{a: 2}`, `{a: 1}`},
		{`{a: {$even: true, $gt: 3}}`, `{a: [1, 4]}`, `{a: 2}`},
		{`{a: {$not: {$even: true}}}`, `{}`, `{a: 2}`},
		{`{a: {$elemMatch: {$even: true, $gt: 3}}}`, `{a: [1, 4]}`, `{a: [2, 5]}`},
		{`{a: {$elemMatch: {b: {$even: true}}}}`, `{a: [{b: 2}]}`, `{a: {b: 2}}`},
		{`{$or: [{a: {$even: true}}, {"b.c": {$even: false}}]}`, `{b: [{c: 1}]}`, `{a: 1}`},
		{`{$unless: {a: {$even: true}, b: 1}}`, `{a: 2}`, `{a: 2, b: 1}`},
		{`{$and: [{$unless: {a: 1}}, {b: {$even: true}}]}`, `{b: 0}`, `{a: 1, b: 0}`},
	} {
		for _, n := range []Node{parseNew(t, tc.filter), Normalize(parseNew(t, tc.filter)), parseNew(t, ejson.String(String(parseNew(t, tc.filter))))} {
			yes, err1 := n.Matches(env, bsontest.Doc(t, tc.yes), s)
			no, err2 := n.Matches(env, bsontest.Doc(t, tc.no), s)
			if !yes || no || err1 != nil || err2 != nil {
				t.Errorf("%v: %s is %v, %s is %v, %v %v", String(n), tc.yes, yes, tc.no, no, err1, err2)
			}
		}
	}
	for _, filter := range []string{`{a: {$even: 1}}`, `{$even: true}`, `{a: {$unless: {}}}`, `{$unless: 1}`, `{a: {$elemMatch: {b: {$even: 1}}}}`} {
		if _, err := ParseNew(env, bsontest.Doc(t, filter)); mongoerr.CodeOf(err) != mongoerr.BadValue {
			t.Errorf("%s: %v", filter, err)
		}
	}
	for value, want := range map[string][2]bool{`{$even: true}`: {true, false}, `{b: {$even: true}}`: {false, true}} {
		p := newOperators(env)
		p.nested = true
		c, err := p.condition(bsontest.Doc(t, value).Value())
		if err != nil {
			t.Fatal(err)
		}
		two := bsontest.Doc(t, `{a: 2, b: {b: 2}}`)
		for i, name := range []string{"a", "b"} {
			if got, err := c.Holds(env, two.Get(name), s); got != want[i] || err != nil {
				t.Errorf("the condition %s on %v: %v, %v", value, two.Get(name), got, err)
			}
		}
	}
}

// Functions on filters work with the new operators too.
func TestNewOperatorIsKnown(t *testing.T) {
	env, s := mql.NewEnv(context.Background()), &expr.Scratch{}
	n := parseNew(t, `{b: 1, a: {$even: true}}`)
	if got := ejson.String(String(Normalize(n))); !strings.Contains(got, `{"a":{"$even":true}}`) || !strings.Contains(got, `{"b":{"$eq":1}}`) {
		t.Errorf("normal form %s", got)
	}
	other := parseNew(t, `{b: 2, a: {$even: false}}`)
	if Shape(n) != Shape(other) || Form(n) != Form(other) || !strings.Contains(Shape(n), "$even") {
		t.Errorf("shapes %s, %s, forms %s, %s", Shape(n), Shape(other), Form(n), Form(other))
	}
	if f := Features(n); f != 0 || CheckNearAndText(n) != nil || !EqualForEqualValues(n) {
		t.Errorf("features %b, places %v, says the same %v", f, CheckNearAndText(n), EqualForEqualValues(n))
	}
	moved, ok := Moved(n, func(p path.Path) (path.Path, bool) { return path.Must("x." + p.String()), true })
	if !ok || !strings.Contains(ejson.String(String(moved)), `{"x.a":{"$even":true}}`) {
		t.Errorf("moved to %v, %v", moved, ok)
	}
	for filter, want := range map[string]string{
		`{a: {$even: true}}`:          `{"operatorName":"$even","specifiedAs":{"a":{"$even":true}},"reason":"was odd","consideredValue":3}`,
		`{a: {$not: {$even: false}}}`: `{"operatorName":"$not","details":{"operatorName":"$even","specifiedAs":{"a":{"$even":false}},"reason":"was even","consideredValue":3}}`,
	} {
		why, err := Explain(env, parseNew(t, filter), bsontest.Doc(t, `{a: 3}`), s)
		if got := ejson.String(why); got != want || err != nil {
			t.Errorf("%s is explained as\n%s\nwant\n%s", filter, got, want)
		}
	}
}
