package update

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
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// A new update operator.
var opNegate = Operator{Name: "$negate", parse: parseNegate}

func parseNegate(_ *parser, _ *fieldPath, arg bson.Value) (action, error) {
	if on, ok := arg.Boolean(); !ok || !on {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$negate wants true")
	}
	return negateAction{}, nil
}

// negateAction negates a boolean; a missing field becomes true.
type negateAction struct{}

func (negateAction) traits() traits { return creates }

func (negateAction) apply(_ *applier, _ *node, old bson.Value) (bson.Value, outcome, error) {
	was, ok := old.Boolean()
	if !ok && !old.IsMissing() {
		return old, keep, mongoerr.New(mongoerr.TypeMismatch, "$negate wants a boolean")
	}
	return bson.Bool(!was), set, nil
}

// TestOperatorIsOneRow requires that one row in a copy of the table adds an update operator: it is parsed on every
// kind of path, applied, reported to change streams, and used by an upsert.
func TestOperatorIsOneRow(t *testing.T) {
	table := append(slices.Clone(Operators), opNegate)
	slices.SortFunc(table, func(a, b Operator) int { return strings.Compare(a.Name, b.Name) })
	env, s := mql.NewEnv(context.Background()), &expr.Scratch{}
	parse := func(u string, filters ...bson.Raw) (*Program, error) {
		return parseOperators(env, table, bsontest.Doc(t, u), filters)
	}
	old := bsontest.Doc(t, `{_id: 1, a: true, b: [true, false], c: [{d: true}, {d: 3}]}`)
	for _, tc := range []struct{ update, want, delta string }{
		{`{$negate: {a: true}}`, `{"_id":1,"a":false,"b":[true,false],"c":[{"d":true},{"d":3}]}`, `{"a":false}`},
		{`{$negate: {"b.$[]": true}}`, `{"_id":1,"a":true,"b":[false,true],"c":[{"d":true},{"d":3}]}`, `{"b":[false,true]}`},
		{`{$negate: {"b.$": true}}`, `{"_id":1,"a":true,"b":[true,true],"c":[{"d":true},{"d":3}]}`, `{"b.1":true}`},
		{`{$negate: {"c.$[x].d": true}}`, `{"_id":1,"a":true,"b":[true,false],"c":[{"d":false},{"d":3}]}`, `{"c.0.d":false}`},
		{`{$negate: {"n.e": true}, $set: {a: 5}}`, `{"_id":1,"a":5,"b":[true,false],"c":[{"d":true},{"d":3}],"n":{"e":true}}`, `{"a":5,"n":{"e":true}}`},
	} {
		var filters []bson.Raw
		if strings.Contains(tc.update, "[x]") {
			filters = append(filters, bsontest.Doc(t, `{"x.d": true}`))
		}
		p, err := parse(tc.update, filters...)
		if err != nil {
			t.Errorf("%s: %v", tc.update, err)
			continue
		}
		in := Input{Position: 1, HasPosition: p.NeedsPosition()}
		if p.NeedsPosition() != strings.Contains(tc.update, "b.$\"") {
			t.Errorf("%s needs a position: %v", tc.update, p.NeedsPosition())
		}
		b := bson.NewBuilder(nil)
		r, err := p.Apply(env, b, old, in, s)
		if err != nil || !r.Modified {
			t.Errorf("%s: %v, %v", tc.update, r, err)
			continue
		}
		got := b.Doc()
		if ejson.String(got) != tc.want {
			t.Errorf("%s makes\n%s\nwant\n%s", tc.update, ejson.String(got), tc.want)
		}
		d, _ := p.Delta(old, got, in)
		told := bson.NewBuilder(nil)
		d.Append(told)
		fields, _ := told.Doc().Get("updatedFields").Doc()
		if got := ejson.String(fields); got != tc.delta {
			t.Errorf("%s is told as %s, want %s", tc.update, got, tc.delta)
		}
		n := 0
		if whole := p.Paths(func(path.Path) { n++ }); whole || n == 0 {
			t.Errorf("%s: %d paths, the whole document %v", tc.update, n, whole)
		}
	}
	p, err := parse(`{$negate: {x: true}}`)
	if err != nil {
		t.Fatal(err)
	}
	n, err := match.Parse(env, bsontest.Doc(t, `{a: 1}`))
	if err != nil {
		t.Fatal(err)
	}
	made, err := p.Upsert(env, n, s, func() bson.Value { return new(bson.Arena).String("new") })
	if got := ejson.String(made); err != nil || got != `{"_id":"new","a":1,"x":true}` {
		t.Errorf("upserted %s, %v", got, err)
	}
	for u, want := range map[string]mongoerr.Code{
		`{$negate: {a: 1}}`: mongoerr.FailedToParse, `{$negate: 1}`: mongoerr.FailedToParse,
		`{$negate: {a: true}, $set: {a: 1}}`: mongoerr.ConflictingUpdateOperators, `{$negates: {a: true}}`: mongoerr.FailedToParse,
	} {
		if _, err := parse(u); mongoerr.CodeOf(err) != want {
			t.Errorf("%s: %v, want code %d", u, err, want)
		}
	}
}
