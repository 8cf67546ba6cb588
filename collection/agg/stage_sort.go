package agg

import (
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

var stageSort = StageDef{Name: "$sort", OwnFields: true, Parse: parseSort, Constraints: Constraints{Blocking: true}, ShapesPlan: true, Selects: always,
	Doc: "reference/operator/aggregation/sort"}

// sortStage sorts documents; with a limit it is a top-k sort.
type sortStage struct {
	pattern order.Pattern
	limit   int64 // 0 = all
}

func parseSort(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := documentArg(arg, 15973, "the $sort key specification must be an object")
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

// unfold returns the $sort and the $limit that it absorbed as separate stages, for printing.
func (s *sortStage) unfold() []Stage {
	if s.limit == 0 {
		return []Stage{s}
	}
	return []Stage{&sortStage{pattern: s.pattern}, &limitStage{s.limit}}
}

// appendExplain prints the absorbed limit inside the $sort, as MongoDB does.
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
	sorter := exec.Sort(in, &s.pattern, s.limit)
	return &sortOp{base{in: in, stage: s}, sorter, sorter, s}, nil
}

type sortOp struct {
	base
	sorter exec.Operator
	rows   exec.Operator // sorter; wrapped by exec.WithSortKey if a stage reads the sort key
	*sortStage
}

func (o *sortOp) readsMeta(k metaKinds) {
	if k.has(expr.MetaSortKey) {
		o.rows = exec.WithSortKey(o.sorter, &o.pattern)
	}
}

func (o *sortOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.limit > 0 && o.returned >= o.limit {
		return nil, nil // a sorter that spilled may deliver more
	}
	r, err := o.rows.Next(env)
	if r != nil {
		o.returned++
	}
	return r, err
}

func (o *sortOp) Park() (int, bool) { return o.sorter.Park() }

func (o *sortOp) Close() { o.sorter.Close() }

func (o *sortOp) explainStats(b *bson.Builder) { exec.SortStats(o.sorter, b) }

// Explain implements exec.Operator.
func (o *sortOp) Explain(b *bson.Builder, stats bool) { explainStages(b, o, stats) }

// passMatch moves a following $match in front of the $sort, so that only the matching documents are sorted. A
// $sort with a limit keeps its place.
func (s *sortStage) passMatch(m *matchStage) ([]Stage, bool) { return []Stage{m, s}, s.limit == 0 }

// absorb combines the $sort and a following $limit, with or without a $skip between them, into a top-k sort.
func (s *sortStage) absorb(rest []Stage) ([]Stage, int) {
	if l, ok := rest[0].(*limitStage); ok {
		n := l.n
		if s.limit > 0 {
			n = min(n, s.limit)
		}
		return []Stage{&sortStage{s.pattern, n}}, 1
	}
	skip, ok := rest[0].(*skipStage)
	if !ok || len(rest) < 2 || s.limit > 0 {
		return nil, 0
	}
	limit, ok := rest[1].(*limitStage)
	if !ok || skip.n > math.MaxInt64-limit.n {
		return nil, 0
	}
	return []Stage{&sortStage{s.pattern, skip.n + limit.n}, skip}, 2
}
