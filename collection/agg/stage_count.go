package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageCount = StageDef{Name: "$count", Names: []string{""}, Parse: parseCount, Constraints: Constraints{Blocking: true}, ShapesPlan: true,
	Doc: "reference/operator/aggregation/count"}

// countStage is $count: it counts documents, or with merge adds up the counts of the shards.
type countStage struct {
	field string
	merge bool
}

func parseCount(_ *parser, _ string, arg bson.Value) ([]Stage, error) {
	f, ok := arg.Str()
	switch {
	case arg.Type != bson.TypeString || !ok:
		return nil, mongoerr.New(40156, "the count field must be a non-empty string")
	case f == "":
		return nil, mongoerr.New(40157, "the count field must be a non-empty string")
	case f[0] == '$':
		return nil, mongoerr.New(40158, "the count field cannot be a $-prefixed path")
	case strings.IndexByte(f, 0) >= 0:
		return nil, mongoerr.New(40159, "the count field cannot contain a null byte")
	case strings.Contains(f, "."):
		return nil, mongoerr.New(40160, "the count field cannot contain '.'")
	case f == "_id":
		return nil, mongoerr.New(9039800, "the count field cannot be '_id'")
	}
	return []Stage{&countStage{field: f}}, nil
}

func (s *countStage) Name() string             { return "$count" }
func (s *countStage) Constraints() Constraints { return stageCount.Constraints }
func (s *countStage) Split() Split {
	return Split{Shards: []Stage{s}, Merge: []Stage{&countStage{s.field, true}}}
}
func (s *countStage) Append(b *bson.Builder) { b.String("$count", s.field) }
func (s *countStage) Reads(add func(string)) bool {
	if s.merge {
		add(s.field)
	}
	return true
}

func (s *countStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &countOp{base: base{in: in, stage: s}, countStage: s}, nil
}

type countOp struct {
	base
	maker
	*countStage
	done bool
}

func (o *countOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.done {
		return nil, nil
	}
	n, err := o.count(env)
	if err != nil {
		return nil, err
	}
	o.done = true
	if n == 0 {
		return nil, nil
	}
	o.begin().Int(o.field, n)
	o.returned++
	return o.end(env, nil)
}

// count returns the number of rows of the input, or with merge the sum of the numbers in them.
func (o *countOp) count(env *mql.Env) (n int64, err error) {
	if !o.merge {
		return exec.CountRows(env, o.in)
	}
	err = exec.Drain(env, o.in, func(r *exec.Row) error {
		m, _ := r.Doc.Get(o.field).Int64()
		n += m
		return nil
	})
	return n, err
}

func (o *countOp) Park() (int, bool) { return o.in.Park() }

func (o *countOp) Explain(b *bson.Builder, stats bool) { o.base.Explain(b, stats) }
