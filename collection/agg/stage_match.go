package agg

import (
	"sync"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageMatch = StageDef{Name: "$match", OwnFields: true, Filters: true, Parse: parseMatch,
	Constraints: Constraints{KeepsOrder: true}, AfterChanges: true, Behind: textFirst, Selects: always,
	Doc: "reference/operator/aggregation/match"}

// matchStage drops the documents that do not match a filter.
type matchStage struct {
	node match.Node
	// meta reports that the filter reads metadata. Earlier stages may make this metadata, so the filter is not
	// moved.
	meta bool

	once   sync.Once
	normal match.Node // of node, after once
}

func parseMatch(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := documentArg(arg, 15959, "the match filter must be an expression in an object")
	if err != nil {
		return nil, err
	}
	var kinds metaKinds
	done := p.noting(&kinds)
	n, err := match.Parse(p.env, d)
	if done(); err != nil {
		return nil, err
	}
	kinds.note(p)
	if err := checkMatch(n); err != nil {
		return nil, err
	}
	return []Stage{&matchStage{node: n, meta: kinds != 0}}, nil
}

// textFirst rejects a $match with $text behind other stages.
// Errors: 17313.
func textFirst(s Stage, before []Stage) error {
	m, ok := s.(*matchStage)
	if ok && len(before) > 0 && match.Features(m.node)&match.UsesText != 0 {
		return mongoerr.New(17313, "$match with $text is only allowed as the first pipeline stage")
	}
	return nil
}

func (s *matchStage) Name() string             { return "$match" }
func (s *matchStage) Constraints() Constraints { return stageMatch.Constraints }
func (s *matchStage) Split() Split             { return everywhere(s) }

func (s *matchStage) Append(b *bson.Builder) {
	b.BeginDoc("$match")
	s.node.Append(b)
	b.End()
}

func (s *matchStage) Reads(add func(string)) bool {
	filterPaths(s.node, add)
	return false
}

// Open normalizes the filter only the first time, because $lookup opens the stages of its sub-pipeline for each row.
func (s *matchStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	s.once.Do(func() { s.normal = match.Normalize(s.node) })
	return &matchOp{base: base{in: in, stage: s}, node: s.normal}, nil
}

type matchOp struct {
	base
	node    match.Node
	metas   metaKinds
	scratch expr.Scratch
}

func (o *matchOp) Next(env *mql.Env) (*exec.Row, error) {
	for {
		r, err := o.in.Next(env)
		if r == nil || err != nil {
			return nil, err
		}
		if err := env.Tick(); err != nil {
			return nil, err
		}
		o.scratch.Reset()
		o.metas.give(r, &o.scratch)
		ok, err := o.node.Matches(env, r.Doc, &o.scratch)
		if err != nil {
			return nil, err
		}
		if ok {
			o.returned++
			return r, nil
		}
	}
}

func (o *matchOp) readsMeta(k metaKinds) { o.metas = k }

func (o *matchOp) Park() (int, bool) { return o.in.Park() }

func (o *matchOp) Close() {
	o.base.Close()
	o.scratch.Close()
}

// passMatch merges the filters of this stage and a following $match into one. If this stage reads metadata, the
// following one moves in front of it instead.
func (s *matchStage) passMatch(m *matchStage) ([]Stage, bool) {
	if s.meta {
		return []Stage{m, s}, true
	}
	return []Stage{&matchStage{node: match.AllOf(conjuncts(s.node, conjuncts(m.node, nil))...)}}, true
}

// passesAll reports whether the filter has no condition, so that the optimiser can drop the stage.
func (s *matchStage) passesAll() bool { return admitsAll(s.node) }
