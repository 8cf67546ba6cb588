package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// windowed is a window function that computes an accumulator over the window of each document.
type windowed struct {
	fn Func
	w  *window
}

func (f *windowed) paths(add func(string)) { f.fn.Paths(add) }

func (f *windowed) start(p *partition) windowRun {
	r := &windowedRun{windowed: f, ends: newWindowEnds(f.w, p)}
	r.enter, r.leave = p.cursor(&r.scratch), p.cursor(&r.scratch)
	r.ranked = newRankedWindow(f.fn, f.w)
	if n, ok := f.fn.(*nFunc); ok && r.ranked == nil && !f.w.lo.unbounded {
		r.firstLast = n
	}
	if u, ok := f.fn.(*unaryFunc); ok {
		if sliding := u.sliding(f.w); sliding != nil {
			r.windowed = &windowed{sliding, f.w}
		}
		r.arg = u.arg
		r.edge = u.name == "$first" || u.name == "$last"
		r.last = u.name == "$last"
		if u.name == "$min" || u.name == "$max" {
			r.slide = &slidingExtreme{sign: 1}
			if u.name == "$min" {
				r.slide.sign = -1
			}
		}
	}
	return r
}

// sliding returns the variant of $stdDevPop or $stdDevSamp that can remove the values of documents which leave the
// window w; nil for other accumulators, and if no document leaves w.
func (f *unaryFunc) sliding(w *window) Func {
	if w.lo.unbounded || f.name != "$stdDevPop" && f.name != "$stdDevSamp" {
		return nil
	}
	sample := f.name == "$stdDevSamp"
	return &unaryFunc{f.name, f.arg, func(*mql.Env) valueState {
		return &slidingStdDev{stdDevState: stdDevState{sample: sample}}
	}}
}

// windowedRun moves the window of an accumulator over a partition. Documents enter at the upper end. If the
// accumulator can remove values, documents leave at the lower end; otherwise the window is computed anew.
type windowedRun struct {
	*windowed
	ends         *windowEnds
	enter, leave spoolCursor
	state        State
	arg          expr.Expr
	edge, last   bool // $first and $last need only one document
	slide        *slidingExtreme
	ranked       *rankedWindow // $top, $topN, $minN and so on, over a window that moves
	firstLast    *nFunc        // $firstN or $lastN over a window that moves
	from, to     int           // documents in state
	held         int
	scratch      expr.Scratch
}

func (r *windowedRun) at(env *mql.Env, b *bson.Builder, name string, i int, doc bson.Raw) error {
	from, to, err := r.ends.of(env, i, doc)
	if err != nil {
		return err
	}
	r.scratch.Reset()
	if r.edge {
		return r.atEdge(env, b, name, from, to)
	}
	if r.slide != nil {
		return r.slideTo(env, b, name, from, to)
	}
	if r.firstLast != nil {
		return r.edgeN(env, b, name, from, to)
	}
	if r.ranked != nil {
		if ok, err := r.rankTo(env, b, name, from, to); ok || err != nil {
			return err
		}
		r.ranked.release(env)
		r.ranked = nil
	}
	if r.state == nil || from < r.from || to < r.to || from >= r.to && r.to > r.from {
		if err := r.restart(env, from); err != nil {
			return err
		}
	}
	for r.from < from {
		forgot, err := r.drop(env)
		if err != nil {
			return err
		}
		if !forgot {
			if err := r.restart(env, from); err != nil {
				return err
			}
		}
	}
	for ; r.to < to; r.to++ {
		d, _, err := r.enter.get(r.to)
		if err != nil {
			return err
		}
		r.scratch.Reset()
		grew, err := r.state.Add(env, d, &r.scratch)
		if err != nil {
			return err
		}
		if grew > 0 {
			r.held += grew
			if err := env.Memory.GrowRequired(grew, "$setWindowFields"); err != nil {
				return err
			}
		}
		if err := env.Tick(); err != nil {
			return err
		}
	}
	r.scratch.Reset()
	return r.state.Result(env, b, name, &r.scratch)
}

// restart begins an empty window at document from, with a new state of the accumulator.
func (r *windowedRun) restart(env *mql.Env, from int) (err error) {
	r.close(env)
	r.from, r.to = from, from
	r.state, err = r.fn.Start(env, bson.Null, &r.scratch)
	return err
}

// drop removes the first document of the window.
func (r *windowedRun) drop(env *mql.Env) (forgot bool, err error) {
	u, ok := r.state.(*unaryState)
	if !ok {
		return false, nil
	}
	d, ok := u.valueState.(dropper)
	if !ok {
		return false, nil
	}
	doc, _, err := r.leave.get(r.from)
	if err != nil {
		return false, err
	}
	v, err := u.arg.Eval(env, doc, &r.scratch)
	if err != nil || !d.drop(env, v) {
		return false, err
	}
	r.from++
	return true, nil
}

func (r *windowedRun) atEdge(env *mql.Env, b *bson.Builder, name string, from, to int) error {
	if from >= to {
		b.Null(name)
		return nil
	}
	if r.last {
		from = to - 1
	}
	d, _, err := r.enter.get(from)
	if err != nil {
		return err
	}
	v, err := r.arg.Eval(env, d, &r.scratch)
	appendOrNull(b, name, v)
	return err
}

func (r *windowedRun) close(env *mql.Env) {
	r.scratch.Close()
	if r.ranked != nil {
		r.ranked.release(env)
	}
	if r.held > 0 {
		env.Memory.Shrink(r.held)
		r.held = 0
	}
}

// slidingExtreme computes the greatest (sign 1) or least (sign -1) value of a moving window. Its queue holds
// the values that can still become the extreme.
type slidingExtreme struct {
	sign  int
	queue []slidingValue
	to    int
}

type slidingValue struct {
	at int
	v  bson.Value
}

// push adds the value of a document to the queue, after removing queued values that can no longer be the extreme.
func (s *slidingExtreme) push(env *mql.Env, at int, v bson.Value) {
	for n := len(s.queue); n > 0 && bson.Compare(s.queue[n-1].v, v, env.Order())*s.sign < 0; n-- {
		s.queue = s.queue[:n-1]
	}
	s.queue = append(s.queue, slidingValue{at, v.Clone()})
}

// leave removes the values of the documents before from, which have left the window.
func (s *slidingExtreme) leave(from int) {
	for len(s.queue) > 0 && s.queue[0].at < from {
		s.queue = s.queue[1:]
	}
}

// slideTo moves the window of a $min or $max to the documents from (inclusive) to to (exclusive) and appends
// the extreme, null if there is none. Windows never move back.
func (r *windowedRun) slideTo(env *mql.Env, b *bson.Builder, name string, from, to int) error {
	s := r.slide
	s.to = max(s.to, from)
	for ; s.to < to; s.to++ {
		d, _, err := r.enter.get(s.to)
		if err != nil {
			return err
		}
		r.scratch.Reset()
		v, err := r.arg.Eval(env, d, &r.scratch)
		if err != nil {
			return err
		}
		if !v.IsNullish() {
			s.push(env, s.to, v)
		}
	}
	s.leave(from)
	if len(s.queue) == 0 {
		b.Null(name)
		return nil
	}
	b.Value(name, s.queue[0].v)
	return nil
}
