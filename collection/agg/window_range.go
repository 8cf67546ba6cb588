package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// windowEnds computes the first and last document in the window of each document of a partition, in order.
type windowEnds struct {
	w        *window
	p        *partition
	lo, hi   spoolCursor // read the sort values at both ends of the window
	from, to int
	scratch  expr.Scratch
}

func newWindowEnds(w *window, p *partition) *windowEnds {
	return &windowEnds{w: w, p: p, lo: spoolCursor{s: p.docs}, hi: spoolCursor{s: p.docs}}
}

// of returns the window of document i, whose content is doc: the documents from (inclusive) to to (exclusive).
//
// Errors: 5429413, 5429414, 5429513 for sort values of the wrong type for a range; the reason why the command must end.
func (e *windowEnds) of(env *mql.Env, i int, doc bson.Raw) (from, to int, err error) {
	n := e.p.docs.len()
	if e.w.kind == byDocuments {
		from, to = e.w.documentsOf(i, n)
		return from, to, nil
	}
	at, err := e.sortValue(doc)
	if err != nil {
		return 0, 0, err
	}
	e.scratch.Reset()
	switch {
	case e.w.lo.current:
		e.from = i
	case !e.w.lo.unbounded:
		if e.from, err = e.pass(env, &e.lo, e.from, at, &e.w.lo, 0); err != nil {
			return 0, 0, err
		}
	}
	switch {
	case e.w.hi.unbounded:
		e.to = n
	case e.w.hi.current:
		e.to = i + 1
	default:
		if e.to, err = e.pass(env, &e.hi, max(e.to, e.from), at, &e.w.hi, 1); err != nil {
			return 0, 0, err
		}
	}
	return e.from, e.to, env.Tick()
}

// pass moves an end of a window by range past the documents below a bound; if stop is 1, also past the
// documents at the bound.
func (e *windowEnds) pass(env *mql.Env, c *spoolCursor, end int, at bson.Value, b *bound, stop int) (int, error) {
	limit, err := e.shift(at, b)
	if err != nil {
		return end, err
	}
	for ; end < e.p.docs.len(); end++ {
		if err := env.Tick(); err != nil {
			return end, err
		}
		order, err := e.compare(c, end, limit)
		if err != nil || order >= stop {
			return end, err
		}
	}
	return end, nil
}

// sortValue returns the sort value of a document.
func (e *windowEnds) sortValue(doc bson.Raw) (bson.Value, error) {
	v := fieldName(e.p.stage.byNames).get(doc)
	switch {
	case e.w.unit != nil && v.Type != bson.TypeDateTime:
		return v, mongoerr.New(5429513, "Invalid range: Expected the sortBy field to be a Date, but it was %s", v.Type)
	case e.w.unit == nil && v.Type == bson.TypeDateTime:
		return v, mongoerr.New(5429413, "Invalid range: For windows that involve date or time ranges, a unit must be provided.")
	case e.w.unit == nil && !v.IsNumber():
		return v, mongoerr.New(5429414, "Invalid range: Expected the sortBy field to be a number, but it was %s", v.Type)
	}
	return v, nil
}

// shift adds a bound to a sort value.
func (e *windowEnds) shift(v bson.Value, b *bound) (bson.Value, error) {
	if e.w.unit == nil {
		return expr.Add(&e.scratch.Arena, v, b.v)
	}
	ms, _ := v.DateTime()
	ms, err := e.w.unit.Add("$setWindowFields", ms, b.n)
	return e.scratch.DateTime(ms), err
}

// compare compares the sort value of document i with a limit: -1, 0 or 1.
func (e *windowEnds) compare(c *spoolCursor, i int, limit bson.Value) (int, error) {
	doc, _, err := c.get(i)
	if err != nil {
		return 0, err
	}
	v, err := e.sortValue(doc)
	return bson.Compare(v, limit, nil), err
}
