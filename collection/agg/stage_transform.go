package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/project"
)

// The stages that make one document from one document.
var (
	stageAddFields = StageDef{Name: "$addFields", OwnFields: true, Parse: parseTransform, Constraints: oneToOne, AfterChanges: true,
		Doc: "reference/operator/aggregation/addFields"}
	stageProject = StageDef{Name: "$project", OwnFields: true, Parse: parseTransform, Constraints: oneToOne, ShapesPlan: true, AfterChanges: true,
		Doc: "reference/operator/aggregation/project"}
	stageReplaceRoot = StageDef{Name: "$replaceRoot", Parse: parseTransform, Constraints: oneToOne, ShapesPlan: true, AfterChanges: true,
		Doc: "reference/operator/aggregation/replaceRoot"}
	stageReplaceWith = StageDef{Name: "$replaceWith", OwnFields: true, Parse: parseTransform, Constraints: oneToOne, ShapesPlan: true, AfterChanges: true,
		Doc: "reference/operator/aggregation/replaceWith", Since: "4.2"}
	stageSet = StageDef{Name: "$set", OwnFields: true, Parse: parseTransform, Constraints: oneToOne, AfterChanges: true,
		Doc: "reference/operator/aggregation/set", Since: "4.2"}
	stageUnset = StageDef{Name: "$unset", Names: []string{""}, Parse: parseTransform, Constraints: oneToOne, AfterChanges: true,
		Doc: "reference/operator/aggregation/unset", Since: "4.2"}
)

// oneToOne are the constraints of the stages that make one document from one document, such as $project.
var oneToOne = Constraints{OneToOne: true, KeepsOrder: true}

// transformStage applies a document transform of package project.
type transformStage struct {
	name string
	t    project.Transform
}

func parseTransform(p *parser, name string, arg bson.Value) ([]Stage, error) {
	t, err := project.ParseStage(p.env, name, arg)
	if err != nil {
		return nil, err
	}
	return []Stage{&transformStage{name, t}}, nil
}

func (s *transformStage) Name() string             { return s.name }
func (s *transformStage) Constraints() Constraints { return oneToOne }
func (s *transformStage) Split() Split             { return everywhere(s) }

// Append prints the stage; the transform appends the fields of its argument.
func (s *transformStage) Append(b *bson.Builder) {
	name := s.name
	switch name { // the forms whose argument is a document
	case "$replaceWith":
		name = "$replaceRoot"
	case "$unset":
		name = "$project"
	}
	b.BeginDoc(name)
	s.t.Append(b)
	b.End()
}

func (s *transformStage) Reads(add func(string)) bool {
	switch s.t.Kind() {
	case project.Exclusion:
		return false
	case project.Addition:
		s.t.Expressions(func(e expr.Expr) { e.Paths(add) })
		return false
	}
	s.t.Paths(add)
	return true
}

func (s *transformStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &transformOp{base: base{in: in, stage: s}, t: s.t}, nil
}

type transformOp struct {
	base
	maker
	t project.Transform
}

func (o *transformOp) Next(env *mql.Env) (*exec.Row, error) {
	r, err := o.in.Next(env)
	if r == nil || err != nil {
		return nil, err
	}
	o.setRow(r)
	if err := o.t.Apply(env, o.begin(), r.Doc, &o.scratch); err != nil {
		return nil, err
	}
	o.returned++
	return o.end(env, r)
}

func (o *transformOp) Park() (int, bool) { o.buf = nil; return o.in.Park() }

func (o *transformOp) Close() {
	o.base.Close()
	o.scratch.Close()
}

// passMatch moves conditions of a following $match on kept or copied fields in front of the stage.
func (s *transformStage) passMatch(m *matchStage) ([]Stage, bool) { return pushParts(s, m, s.origin) }

// origin returns the path in the input from which a path in the output is kept or copied; ok is false if it is computed
// or removed. If the stage makes a field the new root ($replaceRoot), the origin is the path below this field. A
// document in which that field is no document is an error; with moved conditions only if it satisfies them.
func (s *transformStage) origin(p path.Path) (path.Path, bool) {
	if at, ok := project.Root(s.t); ok {
		return path.Must(at + "." + p.String()), true
	}
	if s.t.Keeps(p) {
		return p, true
	}
	from, ok := s.t.Copies(p.First())
	if !ok {
		return p, false
	}
	return renamed(p, 1, from), true
}
