package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// The accumulators that return up to n values of a group in an array.
var (
	accFirstN = AccumulatorDef{Name: "$firstN", Parse: parseN, Ordered: true, Since: "5.2", Doc: "reference/operator/aggregation/firstN"}
	accLastN  = AccumulatorDef{Name: "$lastN", Parse: parseN, Ordered: true, Since: "5.2", Doc: "reference/operator/aggregation/lastN"}
	accMaxN   = AccumulatorDef{Name: "$maxN", Parse: parseN, Since: "5.2", Doc: "reference/operator/aggregation/maxN"}
	accMinN   = AccumulatorDef{Name: "$minN", Parse: parseN, Since: "5.2", Doc: "reference/operator/aggregation/minN"}
)

// nFunc is a parsed accumulator with the arguments {input, n}, such as $firstN. The expression n may refer to
// the fields of the group's _id.
type nFunc struct {
	name     string
	input, n expr.Expr
}

func parseN(p *parser, name string, v bson.Value) (Func, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.New(5787900, "specification must be an object; found %s: %s", name, v.Type)
	}
	f := &nFunc{name: name}
	var err error
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "input":
			f.input, err = expr.Parse(p.env, it.Value)
		case "n":
			f.n, err = expr.Parse(p.env, it.Value)
		default:
			return nil, mongoerr.New(5787901, "Unknown argument for 'n' operator: %s", it.Name)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case f.n == nil:
		return nil, mongoerr.New(5787906, "Missing value for 'n'")
	case f.input == nil:
		return nil, mongoerr.New(5787907, "Missing value for 'input'")
	}
	if c, ok := expr.IsConstant(f.n); ok {
		if _, err := expr.CountOfN(name, c); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *nFunc) Start(env *mql.Env, id bson.Value, s *expr.Scratch) (State, error) {
	n, err := startN(env, f.name, f.n, id, s)
	if err != nil {
		return nil, err
	}
	var state valueState
	switch f.name {
	case "$firstN":
		state = &firstNState{n: n}
	case "$lastN":
		state = &lastNState{n: n}
	case "$maxN":
		state = &extremeNState{n: n, order: env.Order(), sign: -1}
	default:
		state = &extremeNState{n: n, order: env.Order(), sign: 1}
	}
	return &unaryState{state, f.input}, nil
}

// startN evaluates the argument n of an accumulator such as $firstN for one group. The expression sees the
// fields of the group's _id as its document.
func startN(env *mql.Env, name string, e expr.Expr, id bson.Value, s *expr.Scratch) (int64, error) {
	doc := bson.Empty
	if d, ok := id.Doc(); ok {
		doc = d
	}
	v, err := e.Eval(env, doc, s)
	if err != nil {
		return 0, err
	}
	return expr.CountOfN(name, v)
}

func (f *nFunc) Paths(add func(string)) { f.input.Paths(add) }

func (f *nFunc) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(f.name)
	f.n.Append(b, "n")
	f.input.Append(b, "input")
	b.End()
	b.End()
}

// firstNState keeps the first n values.
type firstNState struct {
	n    int64
	list valueList
}

func (t *firstNState) take(_ *mql.Env, v bson.Value) (int, error) {
	if int64(t.list.count) >= t.n {
		return 0, nil
	}
	if v.IsMissing() {
		v = bson.Null
	}
	return t.list.add("$firstN", v)
}

func (t *firstNState) Merge(env *mql.Env, partial bson.Value) (int, error) {
	return takeAll(env, t, partial)
}

func (t *firstNState) Partial(b *bson.Builder, name string) { t.list.append(b, name) }

func (t *firstNState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	t.list.append(b, name)
	return nil
}

// takeAll adds the elements of an array.
func takeAll(env *mql.Env, t valueState, partial bson.Value) (grew int, err error) {
	a, ok := partial.Array()
	if !ok {
		return 0, badPartial("an accumulator")
	}
	for it := a.Iter(); it.Next(); {
		n, err := t.take(env, it.Value)
		if err != nil {
			return grew, err
		}
		grew += n
	}
	return grew, nil
}

// lastNState is the state of $lastN: the last n values, in a ring buffer.
type lastNState struct {
	n    int64
	ring []bson.Value
	at   int // index of the oldest value, once the ring is full
	held int
}

func (t *lastNState) take(_ *mql.Env, v bson.Value) (grew int, err error) {
	if v.IsMissing() {
		v = bson.Null
	}
	if int64(len(t.ring)) < t.n {
		kept, n := copyInto(bson.Value{}, v)
		t.ring = append(t.ring, kept)
		grew = n + 32
	} else {
		t.ring[t.at], grew = copyInto(t.ring[t.at], v)
		t.at = (t.at + 1) % len(t.ring)
	}
	t.held += grew
	return grew, checkHeld("$lastN", t.held)
}

// checkHeld returns an error if the state of one accumulator holds more than listBytesMax bytes.
func checkHeld(name string, held int) error {
	if held <= listBytesMax {
		return nil
	}
	return mongoerr.New(mongoerr.ExceededMemoryLimit,
		"%s used too much memory and cannot spill to disk. Memory limit: %d bytes", name, listBytesMax)
}

func (t *lastNState) Merge(env *mql.Env, partial bson.Value) (int, error) {
	return takeAll(env, t, partial)
}

func (t *lastNState) Partial(b *bson.Builder, name string) {
	b.BeginArray(name)
	for i := range t.ring {
		b.Value("", t.ring[(t.at+i)%len(t.ring)])
	}
	b.End()
}

func (t *lastNState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	t.Partial(b, name)
	return nil
}

// extremeNState is the state of $minN (sign 1) and $maxN (sign -1): the n least or greatest values that are
// neither null nor missing, sorted.
type extremeNState struct {
	n     int64
	order bson.StringOrder
	sign  int
	best  []bson.Value
	held  int
}

func (t *extremeNState) take(_ *mql.Env, v bson.Value) (grew int, err error) {
	if v.IsNullish() {
		return 0, nil
	}
	full := int64(len(t.best)) >= t.n
	if full && bson.Compare(v, t.best[len(t.best)-1], t.order)*t.sign >= 0 {
		return 0, nil
	}
	lo, hi := 0, len(t.best)
	for lo < hi {
		mid := (lo + hi) / 2
		if bson.Compare(v, t.best[mid], t.order)*t.sign < 0 {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	old := bson.Value{}
	if full {
		old = t.best[len(t.best)-1]
	} else {
		t.best = append(t.best, bson.Value{})
		grew = 32
	}
	copy(t.best[lo+1:], t.best[lo:])
	var n int
	t.best[lo], n = copyInto(old, v)
	t.held += grew + n
	return grew + n, checkHeld("$minN", t.held)
}

func (t *extremeNState) Merge(env *mql.Env, partial bson.Value) (int, error) {
	return takeAll(env, t, partial)
}

func (t *extremeNState) Partial(b *bson.Builder, name string) {
	b.BeginArray(name)
	for _, v := range t.best {
		b.Value("", v)
	}
	b.End()
}

func (t *extremeNState) Result(_ *mql.Env, b *bson.Builder, name string, _ *expr.Scratch) error {
	t.Partial(b, name)
	return nil
}
