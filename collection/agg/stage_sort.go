package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

var stageSort = StageDef{Name: "$sort", Parse: parseSort, Constraints: Constraints{Blocking: true}, ShapesPlan: true, Doc: "reference/operator/aggregation/sort"}

// sortStage orders documents; with a limit it keeps only the first ones.
type sortStage struct {
	pattern order.Pattern
	limit   int64 // 0 = all
}

func parseSort(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := wantDoc(arg, 15973, "the $sort key specification must be an object")
	if err != nil {
		return nil, err
	}
	if d.IsEmpty() {
		return nil, mongoerr.New(15976, "$sort stage must have at least one sort key")
	}
	pattern, err := order.Parse(p.env, d)
	if err != nil {
		return nil, err
	}
	return []Stage{&sortStage{pattern: pattern}}, nil
}

func (s *sortStage) Name() string             { return "$sort" }
func (s *sortStage) Constraints() Constraints { return stageSort.Constraints }

func (s *sortStage) Split() Split {
	split := Split{Shards: []Stage{s}, Order: &s.pattern}
	if s.limit > 0 {
		split.Merge = []Stage{&limitStage{s.limit}}
	}
	return split
}

func (s *sortStage) Append(b *bson.Builder) { s.pattern.Append(b, "$sort") }

// unfold is the sort and the limit it took in.
func (s *sortStage) unfold() []Stage {
	if s.limit == 0 {
		return []Stage{s}
	}
	return []Stage{&sortStage{pattern: s.pattern}, &limitStage{s.limit}}
}

// appendExplain prints the limit inside, as MongoDB does for a sort that took one in.
func (s *sortStage) appendExplain(b *bson.Builder) {
	b.BeginDoc("$sort")
	s.pattern.Append(b, "sortKey")
	if s.limit > 0 {
		b.Int64("limit", s.limit)
	}
	b.End()
}

func (s *sortStage) Reads(add func(string)) bool {
	s.pattern.Paths(func(p path.Path) { add(p.String()) })
	return false
}

func (s *sortStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &sortOp{base{in: in, stage: s}, exec.Sort(in, &s.pattern, s.limit), s.limit}, nil
}

type sortOp struct {
	base
	sorter exec.Operator
	limit  int64
}

func (o *sortOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.limit > 0 && o.returned >= o.limit {
		return nil, nil // a sorter that spilled delivers more
	}
	r, err := o.sorter.Next(env)
	if r != nil {
		o.returned++
	}
	return r, err
}

func (o *sortOp) Close() { o.sorter.Close() }

func (o *sortOp) explainStats(b *bson.Builder) { exec.SortStats(o.sorter, b) }

// Explain see exec.Operator.
func (o *sortOp) Explain(b *bson.Builder, stats bool) { explainStages(b, o, stats) }
