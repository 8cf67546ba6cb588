package agg

import (
	"encoding/binary"
	"math"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
)

var stageBucketAuto = StageDef{Name: "$bucketAuto", Parse: parseBucketAuto, Constraints: Constraints{Blocking: true}, ShapesPlan: true,
	Doc: "reference/operator/aggregation/bucketAuto"}

// bucketAutoStage is $bucketAuto: it divides documents into at most n buckets of about equal size by a value.
type bucketAutoStage struct {
	by    expr.Expr
	n     int64
	out   []output
	round *granularity // nil: boundaries are values
	// inputOrder is set if an accumulator depends on the order of documents, and the release has them in the order of the
	// input; otherwise they come in the order of by.
	inputOrder bool
	arg        bson.Raw
}

func parseBucketAuto(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	d, err := documentArg(arg, 40240, "The argument to $bucketAuto must be an object, but found type: %s", arg.Type)
	if err != nil {
		return nil, err
	}
	s := &bucketAutoStage{arg: d}
	for it := d.Iter(); it.Next(); {
		v := it.Value
		switch string(it.Name) {
		case "groupBy":
			text, _ := v.Str()
			expression := v.Type == bson.TypeString && text != "" && text[0] == '$'
			if sub, ok := v.Doc(); ok {
				f, some := sub.First()
				expression = some && len(f.Name) > 0 && f.Name[0] == '$'
			}
			if !expression {
				return nil, mongoerr.New(40239, "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or an expression object, but found: %s", v.Type)
			}
			if s.by, err = expr.Parse(p.env, v); err != nil {
				return nil, err
			}
		case "buckets":
			n, ok := v.AsInt64()
			switch {
			case !v.IsNumber():
				return nil, mongoerr.New(40241, "The $bucketAuto 'buckets' field must be a numeric value, but found type: %s", v.Type)
			case !ok || n > math.MaxInt32 || n < math.MinInt32:
				return nil, mongoerr.New(40242, "The $bucketAuto 'buckets' field must be representable as a 32-bit integer")
			case n <= 0:
				return nil, mongoerr.New(40243, "The $bucketAuto 'buckets' field must be greater than 0, but found: %d", n)
			}
			s.n = n
		case "output":
			o, ok := v.Doc()
			if !ok {
				return nil, mongoerr.New(40244, "The $bucketAuto 'output' field must be an object, but found type: %s", v.Type)
			}
			s.out = []output{}
			for it := o.Iter(); it.Next(); {
				acc, err := p.accumulated(string(it.Name), it.Value)
				if err != nil {
					return nil, err
				}
				s.out = append(s.out, acc)
				s.inputOrder = s.inputOrder || acc.ordered && p.env.Release.Has(release.BucketAutoInputOrder)
			}
		case "granularity":
			text, ok := v.Str()
			if !ok || v.Type != bson.TypeString {
				return nil, mongoerr.New(40261, "The $bucketAuto 'granularity' field must be a string, but found type: %s", v.Type)
			}
			if s.round = granularityOf(text); s.round == nil {
				return nil, mongoerr.New(40257, "Unknown rounding granularity '%s'", text)
			}
		default:
			return nil, mongoerr.New(40245, "Unrecognized option to $bucketAuto: %s.", it.Name)
		}
	}
	if s.by == nil || s.n == 0 {
		return nil, mongoerr.New(40246, "$bucketAuto requires 'groupBy' and 'buckets' to be specified")
	}
	if len(s.out) == 0 {
		if s.out, err = p.countOutput(); err != nil {
			return nil, err
		}
	}
	return []Stage{s}, nil
}

func (s *bucketAutoStage) Name() string             { return "$bucketAuto" }
func (s *bucketAutoStage) Constraints() Constraints { return stageBucketAuto.Constraints }
func (s *bucketAutoStage) Split() Split             { return merged(s) }
func (s *bucketAutoStage) Append(b *bson.Builder)   { b.Raw("$bucketAuto", s.arg) }

func (s *bucketAutoStage) Reads(add func(string)) bool {
	s.by.Paths(add)
	for _, o := range s.out {
		o.fn.Paths(add)
	}
	return true
}

func (s *bucketAutoStage) Open(_ *mql.Env, in exec.Operator, _ Opener) (exec.Operator, error) {
	return &bucketAutoOp{base: base{in: in, stage: s}, bucketAutoStage: s, rows: rowSorter{what: "$bucketAuto"},
		members: bucketMembers{rows: rowSorter{what: "$bucketAuto"}}}, nil
}

type bucketAutoOp struct {
	base
	maker
	*bucketAutoStage
	rows    rowSorter
	loaded  bool
	count   int64
	size    int64 // documents per bucket
	made    int64 // buckets so far
	key     []byte
	doc     bson.Raw
	meta    bson.Raw   // of doc
	value   bson.Value // of doc
	min     bson.Value // lower boundary of the next bucket
	arena   bson.Arena
	held    int
	members bucketMembers
}

// bucketMembers sorts the documents of one bucket by their positions in the input.
type bucketMembers struct {
	rows    rowSorter
	scratch expr.Scratch
	tracked exec.Tracked // of the buckets before
}

func (o *bucketAutoOp) Next(env *mql.Env) (*exec.Row, error) {
	if !o.loaded {
		if err := o.load(env); err != nil {
			return nil, err
		}
		o.loaded = true
	}
	if o.doc == nil {
		return nil, nil
	}
	return o.bucket(env)
}

// Park releases nothing: the input was read to its end before the first row.
func (*bucketAutoOp) Park() (int, bool) { return 0, true }

// load reads the whole input, sorted by the groupBy value.
func (o *bucketAutoOp) load(env *mql.Env) error {
	var key []byte
	err := exec.Drain(env, o.in, func(r *exec.Row) error {
		o.setRow(r)
		v, err := o.by.Eval(env, r.Doc, &o.scratch)
		if err != nil {
			return err
		}
		if o.round != nil {
			if err := o.round.check(v); err != nil {
				return err
			}
		}
		key = keystring.Append(key[:0], v, keystring.Ascending, env.Order(), nil)
		if o.inputOrder {
			key = binary.BigEndian.AppendUint64(key, uint64(o.count))
		}
		if err := o.rows.add(env, key, r.Doc, o.metas.metaToStore(r)); err != nil {
			return err
		}
		o.count++
		return nil
	})
	if err != nil {
		return err
	}
	if err := o.rows.finish(env); err != nil {
		return err
	}
	o.size = max(1, int64(math.Round(float64(o.count)/float64(o.n))))
	return o.advance(env)
}

// advance reads the next document and its value.
func (o *bucketAutoOp) advance(env *mql.Env) (err error) {
	if o.key, o.doc, o.meta, err = o.rows.next(); o.doc == nil || err != nil {
		return err
	}
	o.scratch.Reset()
	o.metas.giveStored(o.meta, &o.scratch)
	o.value, err = o.by.Eval(env, o.doc, &o.scratch)
	if o.value.IsMissing() {
		o.value = bson.Null
	}
	return err
}

// bucket returns the row of the next bucket. Documents with equal values (with a granularity: below the rounded upper
// boundary) stay in one bucket, and the n-th bucket gets all remaining documents.
func (o *bucketAutoOp) bucket(env *mql.Env) (*exec.Row, error) {
	g := &group{states: make([]State, len(o.out))}
	for i, out := range o.out {
		var err error
		if g.states[i], err = out.fn.Start(env, bson.Null, &o.scratch); err != nil {
			return nil, err
		}
	}
	o.made++
	lo, hi := o.value.Clone(), o.value.Clone()
	take := func() error {
		hi = bson.Value{Type: o.value.Type, Data: append(hi.Data[:0], o.value.Data...)}
		var err error
		if o.inputOrder {
			err = o.members.rows.add(env, o.key[len(o.key)-8:], o.doc, o.meta)
		} else {
			err = o.accumulate(env, g, o.doc, &o.scratch)
		}
		if err == nil {
			err = env.Tick()
		}
		if err != nil {
			return err
		}
		return o.advance(env)
	}
	for n := int64(0); o.doc != nil && (n < o.size || o.made == o.n); n++ {
		if err := take(); err != nil {
			return nil, err
		}
	}
	order := env.Order()
	if o.round == nil {
		for o.doc != nil && bson.Equal(o.value, hi, order) {
			if err := take(); err != nil {
				return nil, err
			}
		}
		if o.doc != nil {
			hi = o.value.Clone()
		}
	} else {
		end := o.round.up(&o.arena, hi)
		for o.doc != nil && bson.Compare(o.value, end, nil) < 0 {
			if err := take(); err != nil {
				return nil, err
			}
		}
		hi = end
		if o.made == 1 {
			lo = o.round.down(&o.arena, lo)
		} else {
			lo = o.min
		}
		o.min = hi
	}
	if o.inputOrder {
		if err := o.accumulateMembers(env, g); err != nil {
			return nil, err
		}
	}
	b := o.begin()
	b.BeginDoc("_id")
	b.Value("min", lo)
	b.Value("max", hi)
	b.End()
	var scratch expr.Scratch // o.scratch holds the value of doc
	defer scratch.Close()
	for i, out := range o.out {
		if err := g.states[i].Result(env, b, out.name, &scratch); err != nil {
			return nil, err
		}
	}
	if o.held > 0 {
		env.Memory.Shrink(o.held)
		o.held = 0
	}
	o.returned++
	return o.end(env, nil)
}

// accumulate adds a document to the accumulators of a bucket.
func (o *bucketAutoOp) accumulate(env *mql.Env, g *group, doc bson.Raw, s *expr.Scratch) error {
	for _, state := range g.states {
		grew, err := state.Add(env, doc, s)
		if err != nil {
			return err
		}
		if o.held += grew; grew > 0 {
			if err := env.Memory.GrowRequired(grew, "$bucketAuto"); err != nil {
				return err
			}
		}
	}
	return nil
}

// accumulateMembers adds the documents of a bucket to its accumulators, in the order of the input, and empties members.
func (o *bucketAutoOp) accumulateMembers(env *mql.Env, g *group) error {
	m := &o.members
	if err := m.rows.finish(env); err != nil {
		return err
	}
	for {
		_, doc, meta, err := m.rows.next()
		if err != nil {
			return err
		}
		if doc == nil {
			break
		}
		m.scratch.Reset()
		o.metas.giveStored(meta, &m.scratch)
		if err := o.accumulate(env, g, doc, &m.scratch); err != nil {
			return err
		}
		if err := env.Tick(); err != nil {
			return err
		}
	}
	m.empty()
	return nil
}

// empty releases the documents and keeps the counts for explain: the largest memory, and the sum of what was spilled.
func (m *bucketMembers) empty() {
	m.rows.close()
	m.tracked.Peak = max(m.tracked.Peak, m.rows.Peak)
	m.tracked.Spilled.Add(m.rows.Spilled)
	m.rows = rowSorter{what: m.rows.what}
}

func (o *bucketAutoOp) Close() {
	o.base.Close()
	o.scratch.Close()
	o.rows.close()
	o.members.rows.close()
	o.members.scratch.Close()
	o.loaded, o.doc = true, nil
}

func (o *bucketAutoOp) explainStats(b *bson.Builder) {
	o.rows.Add(o.members.tracked).Append(b)
}

func (o *bucketAutoOp) Explain(b *bson.Builder, stats bool) { explainStages(b, o, stats) }
