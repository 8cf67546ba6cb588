package agg

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/decimal"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/order"
)

var stageSample = StageDef{Name: "$sample", Parse: parseSample, Constraints: Constraints{Blocking: true}, Selects: always,
	Doc: "reference/operator/aggregation/sample"}

// sampleStage is $sample: it selects n documents at random. Each document gets a random key, and the n smallest
// keys are selected, in every shard and again over all shards.
type sampleStage struct{ n int64 }

func parseSample(_ *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := documentArg(arg, 28745, "the $sample stage specification must be an object")
	if err != nil {
		return nil, err
	}
	size := bson.Value{}
	for it := d.Iter(); it.Next(); {
		if string(it.Name) != "size" {
			return nil, mongoerr.New(28748, "unrecognized option to $sample: %s", it.Name)
		}
		if !it.Value.IsNumber() {
			return nil, mongoerr.New(28746, "size argument to $sample must be a number")
		}
		size = it.Value
	}
	if size.IsMissing() {
		return nil, mongoerr.New(28749, "$sample stage must specify a size")
	}
	if d, ok := size.Decimal(); ok {
		var a bson.Arena
		size = a.Decimal(decimal.Round(d, 0)) // decimals are rounded, doubles are truncated
	}
	n, _ := size.TruncInt64()
	if n <= 0 {
		return nil, mongoerr.New(28747, "size argument to $sample must be a positive integer")
	}
	return []Stage{&sampleStage{n}}, nil
}

func (s *sampleStage) Name() string             { return "$sample" }
func (s *sampleStage) Constraints() Constraints { return stageSample.Constraints }
func (s *sampleStage) Split() Split {
	return Split{Shards: []Stage{s}, Merge: []Stage{&limitStage{s.n}}, Order: &randomOrder}
}
func (s *sampleStage) Reads(func(string)) bool { return false }

// Sample returns the size of a $sample with which the pipeline begins, and the stages behind it; ok is false for another
// pipeline.
func (p *Pipeline) Sample() (size int64, rest *Pipeline, ok bool) {
	if len(p.stages) == 0 {
		return 0, nil, false
	}
	s, ok := p.stages[0].(*sampleStage)
	if !ok {
		return 0, nil, false
	}
	return s.n, p.with(p.stages[1:]), true
}

// randomOrder is the order of the rows of a $sample: by their random keys, which they have as sort keys.
var randomOrder = order.Pattern{Parts: []order.Part{{Name: "$rand", Dir: 1, Meta: "randVal"}}}

func (s *sampleStage) Append(b *bson.Builder) {
	b.BeginDoc("$sample")
	b.Int64("size", s.n)
	b.End()
}

func (s *sampleStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &sampleOp{base: base{in: in, stage: s}, rows: rowSorter{what: "$sample", limit: s.n}}, nil
}

type sampleOp struct {
	base
	rows   rowSorter
	loaded bool
	row    exec.Row
	metas  metaKinds
}

func (o *sampleOp) readsMeta(k metaKinds) { o.metas = k }

func (o *sampleOp) Next(env *mql.Env) (*exec.Row, error) {
	if !o.loaded {
		if err := o.load(env); err != nil {
			return nil, err
		}
		o.loaded = true
	}
	if o.returned >= o.rows.limit {
		return nil, nil
	}
	key, doc, meta, err := o.rows.next()
	if doc == nil || err != nil {
		return nil, err
	}
	o.returned++
	o.row = exec.Row{Doc: doc, SortKey: key, Meta: meta}
	return &o.row, nil
}

// Park releases nothing: the input was read to its end before the first row.
func (*sampleOp) Park() (int, bool) { return 0, true }

func (o *sampleOp) load(env *mql.Env) error {
	env.NoteRandom()
	var key [8]byte
	err := exec.Drain(env, o.in, func(r *exec.Row) error {
		binary.BigEndian.PutUint64(key[:], rand.Uint64())
		return o.rows.add(env, key[:], r.Doc, o.metas.metaToStore(r))
	})
	if err != nil {
		return err
	}
	return o.rows.finish(env)
}

func (o *sampleOp) Close() {
	o.base.Close()
	o.rows.close()
	o.loaded = true
}
