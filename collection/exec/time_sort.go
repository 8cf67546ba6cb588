package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
)

// timeSort puts the records of a time-series collection, which come in the order of their positions, into the order of a
// pattern that begins with the time. It sorts the rows of one time at a time, and those whose times share a position.
type timeSort struct {
	Counters
	node  *plan.TimeSort
	in    *recordScan
	ahead *Row    // the next row of in, if it was read already; nil for none
	group *sorter // delivers the rows of one time; nil for none
	first Row     // copy of the row that was read before ahead
	mem   page
	kept  page // memory of ahead after Park
}

func (t *timeSort) Next(env *mql.Env) (*Row, error) {
	if t.group != nil {
		r, err := t.group.Next(env)
		if r != nil || err != nil {
			return t.deliver(r), err
		}
		t.group.Close()
		t.group = nil
	}
	r, err := t.read(env)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		t.Done = true
		return nil, nil
	case t.node.IsPlain() && !catalog.SharesTime(r.Hash):
		return t.deliver(r), nil
	}
	t.mem.mem = t.mem.mem[:0]
	t.first = t.mem.copy(r)
	if t.ahead, err = t.in.Next(env); err != nil {
		return nil, err
	}
	if t.ahead == nil || !catalog.EqualTime(t.ahead.Hash, t.first.Hash) {
		return t.deliver(&t.first), nil
	}
	t.group = &sorter{node: &plan.Sort{Pattern: t.node.Pattern}, in: &oneTime{of: t}}
	if r, err = t.group.Next(env); err != nil {
		return nil, err
	}
	return t.deliver(r), nil
}

func (t *timeSort) deliver(r *Row) *Row {
	if r != nil {
		t.Works++
		t.Returned++
	}
	return r
}

// read returns the next row in the order of positions.
func (t *timeSort) read(env *mql.Env) (*Row, error) {
	if r := t.ahead; r != nil {
		t.ahead = nil
		return r, nil
	}
	return t.in.Next(env)
}

// oneTime delivers the rows of one time: first of the timeSort, then ahead and all that follow with its time. The row
// after these becomes ahead.
type oneTime struct {
	of    *timeSort
	begun bool
	ended bool
}

func (o *oneTime) Next(env *mql.Env) (*Row, error) {
	switch {
	case !o.begun:
		o.begun = true
		return &o.of.first, nil
	case o.ended:
		return nil, nil
	}
	r, err := o.of.read(env)
	if err != nil {
		return nil, err
	}
	if r == nil || !catalog.EqualTime(r.Hash, o.of.first.Hash) {
		o.ended = true
		o.of.ahead = r
		return nil, nil
	}
	return r, nil
}

func (*oneTime) Explain(*bson.Builder, bool) {}
func (*oneTime) Park() (int, bool)           { return 0, true }
func (*oneTime) Close()                      {} // the timeSort closes its input

// Explain omits the operator if it sorts by the time alone, because MongoDB has no such stage.
func (t *timeSort) Explain(b *bson.Builder, stats bool) {
	if t.node.IsPlain() {
		t.in.Explain(b, stats)
		return
	}
	explainStage(b, t.node, &t.Counters, stats, t.in)
}

func (t *timeSort) Park() (int, bool) {
	if t.ahead != nil {
		var own page
		row := own.copy(t.ahead)
		t.ahead, t.kept = &row, own
	}
	n, done := t.in.Park()
	return n + t.kept.bytes() + t.mem.bytes(), done
}

func (t *timeSort) Close() {
	if t.group != nil {
		t.group.Close()
		t.group = nil
	}
	t.in.Close()
	t.Done = true
}
