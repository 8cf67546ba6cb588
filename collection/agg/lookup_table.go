package agg

import (
	"slices"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// lookupTable holds the foreign documents of a $lookup or $graphLookup by their values in the foreign field: the build
// side of a hash join. A stage builds it if no index finds the documents, in place of a scan for each batch of rows.
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

// add adds a document with its values on the foreign side, and reports whether the memory budget holds it.
func (t *lookupTable) add(env *mql.Env, doc bson.Raw, side *foreignSide, s *expr.Scratch) (fits bool, err error) {
	n, at := len(doc)+32, len(t.docs)
	t.docs = append(t.docs, doc.Clone())
	err = side.values(env, doc, s, func(v bson.Value) {
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
	b := tableBuilder{opener: o.opener, ns: o.ns, path: o.foreign, condition: o.further(), null: o.equal == nil, scratch: &o.bindings, end: o.endRead}
	o.table, err = b.build(env)
	return err
}

// tableBuilder builds a lookupTable.
type tableBuilder struct {
	opener    Opener
	ns        collection.Namespace
	path      path.Path
	condition match.Node // on the documents; nil = none
	null      bool       // null and missing values are looked up, too
	scratch   *expr.Scratch
	end       func(exec.Operator) // closes the read
}

// build reads the documents. It returns nil if they do not fit in memory, or if a view computes random values, which
// each read must see anew.
func (b *tableBuilder) build(outer *mql.Env) (built *lookupTable, err error) {
	var drew atomic.Bool
	env := outer.WithRandomFlag(&drew)
	side, err := newForeignSide(env, b.path, b.null)
	if err != nil {
		return nil, err
	}
	p := &Pipeline{NS: b.ns}
	if b.condition != nil {
		p.stages = []Stage{&matchStage{node: b.condition}}
	}
	op, err := b.opener.Open(env, b.ns, p)
	if err != nil {
		return nil, err
	}
	defer b.end(op)
	t := &lookupTable{}
	defer func() {
		if built == nil {
			t.drop(outer)
		}
	}()
	for {
		r, err := op.Next(env)
		switch {
		case err != nil:
			return nil, err
		case r == nil && drew.Load():
			outer.NoteRandom()
			return nil, nil
		case r == nil:
			return t, nil
		}
		if err := env.Tick(); err != nil {
			return nil, err
		}
		if fits, err := t.add(env, r.Doc, &side, b.scratch); !fits || err != nil {
			return nil, err
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

// find returns the indexes of the documents that have any of the values, ascending.
func (t *lookupTable) find(env *mql.Env, values []bson.Value) (all []int) {
	for _, v := range values {
		if pos, ok := t.set.find(env, v); ok {
			all = append(all, t.at[pos]...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
