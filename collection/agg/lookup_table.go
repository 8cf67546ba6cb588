package agg

import (
	"slices"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// lookupTable holds the foreign documents of a $lookup by their values in the foreign field: the build side of a hash
// join. The stage builds it if no index finds the documents, in place of a scan for each batch of rows.
type lookupTable struct {
	docs []bson.Raw
	set  valueSet
	at   [][]int // indexes in docs of the documents with a value, ascending, by the position of the value in set
	held int     // counted bytes
}

// lookupTableRows is the number of rows of a batch from which on a table is built: reading the first rows costs no
// more scans than before, and a short input needs no table.
const lookupTableRows = 16

// tableBytes are the bytes that a value, and an entry of a document for it, take besides their own.
const tableBytes = 96

// add adds a document with the values that side finds, and reports whether the memory budget holds it.
func (t *lookupTable) add(env *mql.Env, doc bson.Raw, o *lookupOp, side *foreignSide) (fits bool, err error) {
	n, at := len(doc)+32, len(t.docs)
	t.docs = append(t.docs, doc.Clone())
	err = side.values(env, doc, &o.bindings, func(v bson.Value) {
		pos, fresh := t.set.add(env, v)
		if fresh {
			t.at = append(t.at, nil)
			n += 2 * len(v.Data)
		}
		if l := t.at[pos]; len(l) == 0 || l[len(l)-1] != at {
			t.at[pos] = append(l, at)
			n += tableBytes
		}
	})
	t.held += n
	return env.Memory.Grow(n) && int64(t.held) <= env.Memory.Max()/2, err
}

// drop returns the memory of the table; t may be nil.
func (t *lookupTable) drop(env *mql.Env) {
	if t != nil {
		env.Memory.Shrink(t.held)
		*t = lookupTable{}
	}
}

// tabulate builds the table before a batch of rows is joined, if it is not built yet and the scans of further batches
// would cost more.
func (o *lookupOp) tabulate(env *mql.Env, rows int) error {
	if o.table != nil || o.tableTried || o.ended || rows < lookupTableRows || o.ns.Coll == "" {
		return nil
	}
	o.tableTried = true
	p, err := o.equalQuery(env)
	if err != nil {
		return err
	}
	a, err := o.opener.Survey(env, o.ns, p, o.foreign.String())
	if err != nil || a.Indexed {
		return err
	}
	return o.build(env)
}

// build builds the table. The stage stays without one if the documents do not fit in memory, or if a view computes
// random values, which each row must see anew.
func (o *lookupOp) build(outer *mql.Env) (err error) {
	var drew atomic.Bool
	env := outer.WithRandomFlag(&drew)
	side, err := newForeignSide(env, o.foreign, o.equal == nil)
	if err != nil {
		return err
	}
	p := &Pipeline{NS: o.ns}
	if n := o.further(); n != nil {
		p.stages = []Stage{&matchStage{node: n}}
	}
	op, err := o.opener.Open(env, o.ns, p)
	if err != nil {
		return err
	}
	defer o.endRead(op)
	t := &lookupTable{}
	defer func() {
		if o.table == nil {
			t.drop(outer)
		}
	}()
	for {
		r, err := op.Next(env)
		switch {
		case err != nil:
			return err
		case r == nil && drew.Load():
			outer.NoteRandom()
			return nil
		case r == nil:
			o.table = t
			return nil
		}
		if err := env.Tick(); err != nil {
			return err
		}
		if fits, err := t.add(env, r.Doc, o, &side); !fits || err != nil {
			return err
		}
	}
}

// join finds the documents for the rows of a batch. values are the values of the rows, and byValue the indexes of the
// rows with each.
func (t *lookupTable) join(env *mql.Env, rows []lookupRow, values *valueSet, byValue [][]int) {
	for at, v := range values.values {
		pos, ok := t.set.find(env, v)
		if !ok {
			continue
		}
		for _, i := range byValue[at] {
			if rows[i].matches == nil {
				rows[i].matches = t.at[pos]
				continue
			}
			both := append(slices.Clone(rows[i].matches), t.at[pos]...)
			slices.Sort(both)
			rows[i].matches = slices.Compact(both)
		}
	}
}
