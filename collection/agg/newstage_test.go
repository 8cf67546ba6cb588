package agg

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// Definitions that only this test has: a stage, and a source about the server. The parser, the optimiser and
// the outline use only their rows.
var (
	stageStamp = StageDef{Name: "$stamp", Parse: parseStamp, Constraints: oneToOne, AfterChanges: true, Unstable: always}

	stageWeather = info(StageDef{Name: "$weather", Constraints: onDatabase,
		Privileges: []Privilege{{Action: "inprog", On: OnCluster}}, ReadLevel: "local"}, checkEmpty("$weather", 1))
)

// stampStage adds a text to every document.
type stampStage struct{ text string }

func parseStamp(_ *parser, _ string, arg bson.Value) ([]Stage, error) {
	text, ok := arg.Str()
	if !ok {
		return nil, mongoerr.New(2, "$stamp wants a text")
	}
	return []Stage{&stampStage{text}}, nil
}

func (s *stampStage) Name() string             { return stageStamp.Name }
func (s *stampStage) Constraints() Constraints { return oneToOne }
func (s *stampStage) Split() Split             { return everywhere(s) }
func (s *stampStage) Append(b *bson.Builder)   { b.String(stageStamp.Name, s.text) }
func (s *stampStage) Reads(func(string)) bool  { return true }

func (s *stampStage) passMatch(m *matchStage) ([]Stage, bool) {
	return pushParts(s, m, free(fieldName{"stamp"}, nil))
}

func (s *stampStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &stampOp{base{in: in, stage: s}}, nil
}

type stampOp struct{ base }

func (o *stampOp) Next(env *mql.Env) (*exec.Row, error) {
	r, err := o.in.Next(env)
	if r != nil {
		o.returned++
		b := bson.NewBuilder(nil)
		b.String("stamp", o.stage.(*stampStage).text)
		r.Doc = b.Doc()
	}
	return r, err
}

func (o *stampOp) Park() (int, bool) { return o.in.Park() }

// newTable returns a copy of the table with the two rows.
func newTable() []StageDef {
	table := append(slices.Clone(Stages), stageStamp, stageWeather)
	slices.SortFunc(table, func(a, b StageDef) int { return strings.Compare(a.Name, b.Name) })
	return table
}

// The definition of a stage is one row of a table: added to a copy of the table, a stage is parsed, checked,
// optimised, divided, run, outlined and rejected.
func TestStageIsOneRow(t *testing.T) {
	env := mql.NewEnv(context.Background())
	w := &world{env: env, ns: collection.Namespace{DB: "test", Coll: "c"}, docs: mustDocs(t, `[{a: 1}, {a: 2}, {a: 3}]`)}
	parse := func(coll, text string) (*Pipeline, error) {
		p := parser{env: env, ns: collection.Namespace{DB: "test", Coll: coll}, tables: tables{stages: newTable()}}
		return p.pipeline(mustDocs(t, text))
	}
	p, err := parse("c", `[{$stamp: "x"}, {$match: {a: {$gt: 1}}}, {$limit: 1}]`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := showPipeline(p.Optimize()), `[{"$match":{"a":{"$gt":1}}},{"$limit":1},{"$stamp":"x"}]`; got != want {
		t.Errorf("optimised to\n%s\nwant\n%s", got, want)
	}
	for _, how := range []way{whole, optimised, divided} {
		p, err := parse("c", `[{$stamp: "x"}, {$skip: 2}]`)
		if err != nil {
			t.Fatal(err)
		}
		op, err := w.open(env, p, how, w.docs)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := drain(env, op)
		op.Close()
		if err != nil || len(rows) != 1 || ejson.String(rows[0]) != `{"stamp":"x"}` {
			t.Errorf("way %v delivers %v, %v", how, rows, err)
		}
	}
	for _, tc := range []struct {
		coll, pipeline string
		code           mongoerr.Code // 0 = none
	}{
		{"c", `[{$stamp: 1}]`, 2},
		{"", `[{$weather: {}}, {$stamp: "x"}]`, 0},
		{"", `[{$weather: {a: 1}}]`, 1},
		{"c", `[{$weather: {}}]`, mongoerr.InvalidNamespace},
		{"c", `[{$match: {}}, {$weather: {}}]`, 40602},
		{"c", `[{$facet: {a: [{$weather: {}}]}}]`, 40600},
	} {
		if _, err := parse(tc.coll, tc.pipeline); tc.code == 0 && err != nil || tc.code != 0 && mongoerr.From(err).Code != tc.code {
			t.Errorf("%s on %q: %v, want code %d", tc.pipeline, tc.coll, err, tc.code)
		}
	}
	o := Outline{Stages: mustDocs(t, `[{$weather: {}}, {$stamp: "x"}]`), table: newTable()}
	o.read()
	if o.Err != nil || o.ReadsCollection() || len(o.Involved) != 1 || o.Involved[0].Privileges[0].Action != "inprog" ||
		len(o.Limited) != 2 || o.Limited[0].ReadLevel != "local" || o.Limited[0].NoView == 0 || o.Limited[1].Unstable == nil || !o.Last.AfterChanges {
		t.Errorf("the outline is %+v", o)
	}
}
