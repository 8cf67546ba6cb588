package agg

import (
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// lookupOp is the operator of $lookup. With a foreignField, it joins rows in batches: one filter with the values of
// all rows of a batch reads the foreign collection once, and a hash lookup distributes the documents found. Batches
// grow, so that a following $limit reads little.
type lookupOp struct {
	base
	maker
	*lookupStage
	sub      *Pipeline      // the stage's sub-pipeline, with the filter that the optimiser added
	division lookupDivision // of sub, with an equality
	opener   Opener
	cache    *spool // result of a sub-pipeline that does not depend on the row
	filled   bool
	examined examined
	alone    map[valueClass]Access // how a row's own query is read, by class of its values
	// equal is the equality of an $expr that joins in place of localField and foreignField; nil = these join. The
	// embedded stage then has its foreign field.
	equal *lookupEqual
	// selective reports that batches of rows find many documents that the sub-pipeline's $match drops, so that rows are
	// read alone where an index finds them.
	selective bool
	table     *lookupTable // the foreign documents by value; nil = they are read for each batch
	scans     int          // batches that may have had the table

	batch   int // maximal number of rows of the next batch
	tooMany int // batches whose foreign documents were too many to hold: later ones have fewer rows
	rows    []lookupRow
	at      int // row being delivered
	element int // foreign document being delivered, when unwinding
	found   []bson.Raw
	held    int // counted bytes of found
	env     *mql.Env
	values  valueSet
	// rowValues are the values of one row.
	rowValues valueSet
	byValue   [][]int // indexes of the rows with a value, by position of the value
	ended     bool
	array     []byte // memory of the array being built
	direct    bool   // the row being delivered joins its matches
	subOut    []bson.Raw
	subFor    int
	subHeld   int
	bindings  expr.Scratch
}

// lookupRow is a row of a batch, with the indexes in lookupOp.found of the foreign documents that it joins.
type lookupRow struct {
	row     exec.Row
	matches []int
}

const (
	lookupRowsMax  = 512      // of a batch with small foreign documents
	lookupRowsWide = 128      // of other batches
	lookupBytesMax = 4 << 20  // of the batch's own documents
	lookupFoundMax = 32 << 20 // of foreign documents in a batch of several rows
	// lookupArrayMax limits the size of the array of one row.
	lookupArrayMax = 100 << 20
)

func (o *lookupOp) Next(env *mql.Env) (*exec.Row, error) {
	o.env = env
	for {
		if o.at < len(o.rows) {
			r, err := o.deliver(env, &o.rows[o.at])
			if r != nil || err != nil {
				return r, err
			}
			continue
		}
		if o.ended {
			return nil, nil
		}
		if err := o.load(env); err != nil {
			return nil, err
		}
	}
}

// Park parks the input. It keeps the copied rows of the batch, and counts them because no memory budget does.
func (o *lookupOp) Park() (int, bool) {
	bytes, done := o.in.Park()
	for i := range o.rows {
		r := &o.rows[i].row
		bytes += len(r.Doc) + len(r.ID) + len(r.SortKey) + len(r.Meta)
	}
	return bytes, done
}

// load reads and joins the next batch.
func (o *lookupOp) load(env *mql.Env) error {
	o.batch = o.nextBatch()
	o.release()
	o.rows, o.at, o.element = o.rows[:0], 0, 0
	o.subFor = -1
	size := 0
	for len(o.rows) < o.batch && size < lookupBytesMax {
		r, err := o.in.Next(env)
		if err != nil {
			return err
		}
		if r == nil {
			o.ended = true
			break
		}
		kept := *r
		kept.Doc, kept.Meta = r.Doc.Clone(), r.Meta.Clone()
		kept.ID, kept.SortKey, kept.Values = append([]byte(nil), r.ID...), append([]byte(nil), r.SortKey...), nil
		if r.SortKey == nil {
			kept.SortKey = nil
		}
		size += len(kept.Doc) + len(kept.Meta)
		o.rows = append(o.rows, lookupRow{row: kept})
	}
	if o.foreign.Len() == 0 || len(o.rows) == 0 {
		return nil
	}
	return o.join(env, o.rows)
}

// nextBatch returns the maximal number of rows of the batch after the present one. A batch whose foreign documents are
// too many to hold reads them for each row again, perhaps by a scan: large batches are for small foreign documents.
func (o *lookupOp) nextBatch() int {
	if o.foreign.Len() == 0 {
		return 1
	}
	n := max(1, min(o.batch*4, lookupRowsMax>>min(2*o.tooMany, 8)))
	if n > lookupRowsWide && len(o.rows) > 0 && o.held/len(o.rows)*n > lookupBytesMax {
		n = lookupRowsWide
	}
	return n
}

// join finds the foreign documents of the rows.
func (o *lookupOp) join(env *mql.Env, rows []lookupRow) error {
	o.values.reset()
	for i := range o.byValue {
		o.byValue[i] = o.byValue[i][:0]
	}
	for i := range rows {
		if err := o.addRow(env, rows, i); err != nil {
			return err
		}
	}
	if len(o.values.values) == 0 {
		return nil // each row has a query of its own
	}
	if err := o.tabulate(env, len(rows)); err != nil {
		return err
	}
	if o.table != nil {
		held, err := o.table.join(env, rows, &o.values, o.byValue)
		o.held += held
		return err
	}
	fits, err := o.probe(env, rows)
	if err != nil || fits {
		return err
	}
	// Too large for a batch: each row is joined when it is delivered. A single row's documents are too many to hold only
	// if a sub-pipeline follows; its query reads them one by one.
	o.release()
	o.tooMany++
	later := deferredMatches
	if len(rows) == 1 {
		later = ownMatches
	}
	for i := range rows {
		if !rows[i].is(ownMatches) && !rows[i].is(separateMatches) {
			rows[i].matches = later
		}
	}
	return nil
}

// addRow adds the values of the row at an index to those of the batch, unless the row has a query of its own.
func (o *lookupOp) addRow(env *mql.Env, rows []lookupRow, i int) error {
	rows[i].matches = nil
	o.rowValues.reset()
	joins, err := o.joinValues(env, rows[i].row.Doc)
	if err != nil || !joins {
		rows[i].matches = separateMatches
		return err
	}
	alone, err := o.readsAlone(env, rows[i].row.Doc, o.rowValues.values)
	if alone || err != nil {
		rows[i].matches = ownMatches
		return err
	}
	for _, v := range o.rowValues.values {
		at, _ := o.values.add(env, v)
		for at >= len(o.byValue) {
			o.byValue = append(o.byValue, nil)
		}
		o.byValue[at] = append(o.byValue[at], i)
	}
	return nil
}

// is reports whether the row has a mark: deferredMatches, ownMatches or separateMatches.
func (r *lookupRow) is(mark []int) bool { return len(r.matches) == 1 && r.matches[0] == mark[0] }

// deferredMatches marks a row whose foreign documents are read only when the row is delivered, because its batch joins
// too many to hold, its rows are rather read alone, or a view computes random values.
var deferredMatches = []int{-1}

// probe reads the foreign documents that have any value of a batch of rows, and assigns them to the rows. It returns
// false if the documents are too many to hold; for a single row only if the sub-pipeline can run in a query of the row
// instead. For several rows it also returns false if each is better read by a query of its own (isSelective), or if a
// view computes random values.
func (o *lookupOp) probe(outer *mql.Env, rows []lookupRow) (fits bool, err error) {
	var drew atomic.Bool
	env := outer.WithRandomFlag(&drew)
	op, err := o.openEqual(env)
	if err != nil {
		return false, err
	}
	defer o.endRead(op)
	_, null := o.values.find(env, bson.Null)
	side, err := newForeignSide(env, o.foreign, null && o.equal == nil)
	if err != nil {
		return false, err
	}
	o.found = o.found[:0]
	for {
		r, err := op.Next(env)
		switch {
		case err != nil:
			return true, err
		case r == nil && drew.Load():
			outer.NoteRandom()
			return len(rows) == 1, nil // a view with random values must be read once per row
		case r == nil:
			return true, nil
		}
		if err := env.Tick(); err != nil {
			return false, err
		}
		at := len(o.found)
		hit := false
		err = side.values(env, r.Doc, &o.bindings, func(v bson.Value) {
			pos, ok := o.values.find(env, v)
			if !ok {
				return
			}
			for _, i := range o.byValue[pos] {
				if m := rows[i].matches; len(m) == 0 || m[len(m)-1] != at {
					rows[i].matches = append(m, at)
					hit = true
				}
			}
		})
		if err != nil {
			return false, err
		}
		if !hit {
			continue
		}
		o.found = append(o.found, r.Doc.Clone())
		o.held += len(r.Doc) + 32
		err = env.Memory.GrowRequired(len(r.Doc)+32, "$lookup")
		if (err != nil || !env.Memory.Grow(0) || o.held > lookupFoundMax) && (len(rows) > 1 || o.division.whole != nil) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if o.held > lookupArrayMax && o.unwind == nil {
			return false, o.tooLarge()
		}
		if selective, err := o.isSelective(env, rows); selective && len(rows) > 1 || err != nil {
			return false, err
		}
	}
}

func (o *lookupOp) tooLarge() error {
	return mongoerr.New(4568, "Total size of documents in %s matching pipeline's $lookup stage exceeds %d bytes", o.ns.Coll, lookupArrayMax)
}

// openEqual opens a read of the foreign documents that have one of the values of the batch in the foreign
// field.
func (o *lookupOp) openEqual(env *mql.Env) (exec.Operator, error) {
	p, err := o.equalQuery(env)
	if err != nil {
		return nil, err
	}
	if o.ns.Coll == "" {
		p.stages = append(append([]Stage(nil), o.sub.stages[0]), p.stages...)
		return p.Open(env, nil, o.opener)
	}
	return o.opener.Open(env, o.ns, p)
}

// equalQuery returns the pipeline that reads the foreign documents for the values of the batch.
func (o *lookupOp) equalQuery(env *mql.Env) (*Pipeline, error) {
	n, err := equality(env, o.foreign, o.values.values)
	if err != nil {
		return nil, err
	}
	probes := &Probes{Path: o.foreign.String(), Values: o.values.values, Alone: true}
	p := &Pipeline{NS: o.ns, stages: []Stage{&matchStage{node: n}}, probes: probes}
	if n := o.further(); n != nil {
		p.stages = append(p.stages, &matchStage{node: n})
		probes.Alone = false
	}
	return p, nil
}

// further returns the condition on foreign documents that holds for all rows; nil = none.
func (o *lookupOp) further() match.Node {
	if o.sub == nil {
		return o.joined
	}
	return o.division.lead
}

// release returns the memory of the foreign documents.
func (o *lookupOp) release() {
	if o.held+o.subHeld > 0 {
		o.env.Memory.Shrink(o.held + o.subHeld)
		o.held, o.subHeld = 0, 0
	}
	clear(o.found)
	o.found = o.found[:0]
	o.subOut = nil
}

// deliver returns the next joined document of a row; nil if the row has no more.
func (o *lookupOp) deliver(env *mql.Env, r *lookupRow) (*exec.Row, error) {
	if o.subFor != o.at {
		if err := o.gather(env, r); err != nil {
			return nil, err
		}
		o.subFor, o.element = o.at, 0
	}
	if o.unwind != nil {
		return o.unwound(env, r)
	}
	o.at++
	b := bson.NewArrayBuilder(o.array[:0])
	for i := range o.documents(r) {
		d, err := o.documentOf(r, i)
		if err != nil {
			return nil, err
		}
		if b.Len()+len(d) > lookupArrayMax {
			return nil, o.tooLarge()
		}
		b.Raw("", d)
	}
	o.array = b.Finish()
	appendWith(o.begin(), r.row.Doc, o.as, bson.Value{Type: bson.TypeArray, Data: o.array})
	o.returned++
	return o.end(env, &r.row)
}

// unwound delivers one document for each foreign document.
func (o *lookupOp) unwound(env *mql.Env, r *lookupRow) (*exec.Row, error) {
	u := o.unwind
	n := o.documents(r)
	if o.element >= max(n, 1) || n == 0 && !u.preserve {
		o.at++
		return nil, nil
	}
	v, index := bson.Value{}, bson.Null
	o.scratch.Reset()
	if n > 0 {
		d, err := o.documentOf(r, o.element)
		if err != nil {
			return nil, err
		}
		v = d.Value()
		index = o.scratch.Int64(int64(o.element))
	}
	o.element++
	if u.index == nil {
		appendWith(o.begin(), r.row.Doc, o.as, v)
	} else {
		b := bson.NewBuilder(o.array[:0])
		appendWith(b, r.row.Doc, o.as, v)
		o.array = b.Finish()
		appendWith(o.begin(), o.array, u.index, index)
	}
	o.returned++
	return o.end(env, &r.row)
}

// gather finds the foreign documents of a row: its matches, or those that a sub-pipeline returns, in subOut.
func (o *lookupOp) gather(env *mql.Env, r *lookupRow) error {
	if err := env.Tick(); err != nil {
		return err
	}
	o.subOut = o.subOut[:0]
	if r.is(deferredMatches) {
		o.release()
		one := []lookupRow{{row: r.row}}
		if err := o.join(env, one); err != nil {
			return err
		}
		r.matches = one[0].matches
	}
	if o.direct = o.joinsDirectly(r); o.direct {
		return nil
	}
	if o.cache != nil {
		return o.cached(env)
	}
	return o.run(env, r)
}

// run runs the sub-pipeline for one row.
func (o *lookupOp) run(env *mql.Env, r *lookupRow) error {
	o.bindings.Reset()
	o.metas.give(&r.row, &o.bindings)
	inner, err := bind(env, o.let, r.row.Doc, &o.bindings, false)
	if err != nil {
		return err
	}
	op, err := o.openRow(inner, r)
	if err != nil {
		return err
	}
	defer o.endRead(op)
	if o.subHeld > 0 {
		env.Memory.Shrink(o.subHeld)
		o.subHeld = 0
	}
	for {
		d, err := op.Next(inner)
		if d == nil || err != nil {
			return err
		}
		if err := env.Row(len(d.Doc)); err != nil {
			return err
		}
		o.subOut = append(o.subOut, d.Doc.Clone())
		n := len(d.Doc) + 32
		o.subHeld += n
		if err := env.Memory.GrowRequired(n, "$lookup"); err != nil {
			return err
		}
		if o.subHeld > lookupArrayMax && o.unwind == nil {
			return o.tooLarge()
		}
	}
}

// openRow opens the sub-pipeline for one row. inner has the variables of the row.
func (o *lookupOp) openRow(inner *mql.Env, r *lookupRow) (exec.Operator, error) {
	switch {
	case o.foreign.Len() == 0 || r.is(separateMatches):
		return openSub(inner, o.opener, o.ns, o.sub)
	case r.is(ownMatches):
		return o.openAlone(inner, r.row.Doc)
	}
	equal := &matchesOp{base: base{stage: &matchStage{node: match.Always(true)}}, lookup: o, matches: r.matches}
	return o.division.rest.Open(inner, equal, o.opener)
}

// endRead closes a read of the foreign collection.
func (o *lookupOp) endRead(op exec.Operator) {
	op.Close()
	o.examined.add(op)
}

// cached appends to subOut the result of a sub-pipeline that is the same for all rows: it runs once, and its result is
// spooled. If it computes random values, it runs again for each row.
func (o *lookupOp) cached(outer *mql.Env) error {
	if !o.filled {
		if err := o.cache.reset(); err != nil {
			return err
		}
		var drew atomic.Bool
		env := outer.WithRandomFlag(&drew)
		op, err := openSub(env, o.opener, o.ns, o.sub)
		if err != nil {
			return err
		}
		defer o.endRead(op)
		for {
			d, err := op.Next(env)
			if err != nil {
				return err
			}
			if d == nil {
				break
			}
			if err := o.cache.add(env, d.Doc, nil); err != nil {
				return err
			}
		}
		if o.filled = !drew.Load(); !o.filled {
			outer.NoteRandom()
		}
	}
	c := spoolCursor{s: o.cache}
	size := 0
	for i := range o.cache.len() {
		d, _, err := c.get(i)
		if err != nil {
			return err
		}
		if o.cache.file != nil {
			d = d.Clone()
		}
		if err := outer.Tick(); err != nil {
			return err
		}
		if size += len(d); size > lookupArrayMax && o.unwind == nil {
			return o.tooLarge()
		}
		o.subOut = append(o.subOut, d)
	}
	return nil
}

func (o *lookupOp) Close() {
	o.base.Close()
	o.scratch.Close()
	o.bindings.Close()
	if o.env != nil {
		o.release()
		o.table.drop(o.env)
	}
	if o.cache != nil {
		o.cache.close()
		o.filled = false
	}
	o.rows, o.at, o.ended = nil, 0, true
}

func (o *lookupOp) explainStats(b *bson.Builder) {
	o.examined.append(b)
	switch {
	case o.cache != nil:
		o.cache.Append(b)
	case o.table != nil:
		o.table.tracked().Append(b)
	}
}

func (o *lookupOp) Explain(b *bson.Builder, stats bool) { explainStages(b, o, stats) }
