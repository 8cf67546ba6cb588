package agg

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
)

// lookupTable holds the foreign documents of a $lookup or $graphLookup by their values in the foreign field: the build
// side of a hash join. A stage builds it if no index finds the documents, in place of a scan for each batch of rows.
// Documents that memory does not hold are in a temporary file, and so are the hashes of their values.
type lookupTable struct {
	spills bool // the table may exceed memory
	docs   spool
	read   spoolCursor
	values *postings
	key    []byte
	counts exec.Tracked // of values
}

// lookupTableRows is the number of rows of a batch from which on a table is built: reading the first rows costs no
// more scans than before, and a short input needs no table.
const lookupTableRows = 16

// newLookupTable makes an empty table for a stage with a name. spills permits it to exceed memory.
func newLookupTable(stage string, spills bool) *lookupTable {
	t := &lookupTable{spills: spills, docs: spool{what: stage}, values: newPostings()}
	t.read.s = &t.docs
	return t
}

// add adds a document with its values on the foreign side. A table that may not spill takes at most half of the memory
// limit; add returns false if it would exceed that.
//
// Errors: errors of the temporary files; those of a condition.
func (t *lookupTable) add(env *mql.Env, doc bson.Raw, side *foreignSide, s *expr.Scratch) (fits bool, err error) {
	at := t.docs.len()
	if !t.spills {
		n := len(doc) + 32
		room := env.Memory.Grow(n)
		env.Memory.Shrink(n)
		if !room || int64(t.docs.held+t.values.held+n) > env.Memory.Max()/2 {
			return false, nil
		}
	}
	switch err := t.docs.add(env, doc, nil); {
	case !t.spills && mongoerr.CodeOf(err) == mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed:
		return false, nil // another command has taken the memory
	case err != nil:
		return false, err
	}
	if t.docs.file == nil && int64(t.docs.held) > env.Memory.Max()/2 {
		if err := t.docs.spill(env); err != nil {
			return false, err
		}
	}
	fits = true
	errSide := side.values(env, doc, s, func(v bson.Value) {
		if !fits || err != nil {
			return
		}
		held := t.values.add(env, t.hash(env, v), at)
		switch {
		case held:
		case t.spills:
			err = t.values.spill(env, t.docs.what, &t.counts)
		default:
			fits = false
		}
	})
	return fits, errors.Join(err, errSide)
}

// seal ends adding, and writes what is buffered of the files: reads write nothing, so they cannot find the disk full.
//
// Errors: errors of the temporary files; errors of Tick.
func (t *lookupTable) seal(env *mql.Env) error {
	if err := t.docs.flush(); err != nil {
		return err
	}
	return t.values.seal(env, t.docs.what, &t.counts)
}

// hash returns the hash of a value. Values that are equal under the command's collation have the same.
func (t *lookupTable) hash(env *mql.Env, v bson.Value) valueHash {
	t.key = keystring.Append(t.key[:0], v, keystring.Ascending, env.Order(), nil)
	return t.values.hash(t.key)
}

// document returns a document by its position, valid until the next call.
//
// Errors: errors of the temporary file.
func (t *lookupTable) document(at int) (bson.Raw, error) {
	doc, _, err := t.read.get(at)
	return doc, err
}

// drop returns the memory and the files of the table; t may be nil.
func (t *lookupTable) drop(env *mql.Env) {
	if t != nil {
		t.docs.close()
		t.values.close(env)
	}
}

// tracked returns the peak memory and the spills of the table.
func (t *lookupTable) tracked() exec.Tracked { return t.docs.Tracked.Add(t.counts) }

// lookupSpillScans is the number of scans after which a table is built that memory does not hold: it writes what a scan
// reads. A test sets it to 0.
var lookupSpillScans = 8

// tabulate builds the table before a batch of rows is joined, if it is not built yet and the scans of further batches
// would cost more.
func (o *lookupOp) tabulate(env *mql.Env, rows int) error {
	if o.table != nil || o.ended || rows < lookupTableRows || o.ns.Coll == "" {
		return nil
	}
	spills := o.scans == lookupSpillScans && env.Memory.CanSpill()
	if o.scans++; o.scans > 1 && !spills {
		return nil
	}
	p, err := o.equalQuery(env)
	if err != nil {
		return err
	}
	a, err := o.opener.Survey(env, o.ns, p, o.foreign.String())
	if err != nil || a.Indexed {
		return err
	}
	b := tableBuilder{stage: "$lookup", spills: spills, opener: o.opener, ns: o.ns, path: o.foreign, condition: o.further(), null: o.equal == nil, scratch: &o.bindings, end: o.endRead}
	o.table, err = b.build(env)
	return err
}

// tableBuilder builds a lookupTable.
type tableBuilder struct {
	stage     string
	spills    bool // the table may exceed memory
	opener    Opener
	ns        collection.Namespace
	path      path.Path
	condition match.Node // on the documents; nil = none
	null      bool       // null and missing values are looked up, too
	scratch   *expr.Scratch
	end       func(exec.Operator) // closes the read
}

// build reads the documents. It returns nil if a view computes random values, which each read must see anew, if memory
// does not hold the documents and the table may not spill, and if the disk of the temporary files is full.
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
	t := newLookupTable(b.stage, b.spills)
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
			if err := t.seal(env); err != nil {
				return nil, withoutFullDisk(err)
			}
			return t, nil
		}
		if err := env.Tick(); err != nil {
			return nil, err
		}
		if fits, err := t.add(env, r.Doc, &side, b.scratch); !fits || err != nil {
			return nil, withoutFullDisk(err)
		}
	}
}

// withoutFullDisk returns nil in place of the error of a file that found the disk full: the stage then reads the
// foreign collection for each batch.
func withoutFullDisk(err error) error {
	if storage.IsDiskFull(err) {
		return nil
	}
	return err
}

// join finds the documents for the rows of a batch. values are the values of the rows, and byValue the indexes of the
// rows with each. It returns the bytes of the positions found, which the memory budget counts.
//
// Errors: errors of the temporary file; ExceededMemoryLimit.
func (t *lookupTable) join(env *mql.Env, rows []lookupRow, values *valueSet, byValue [][]int) (held int, err error) {
	for at, v := range values.values {
		found, err := t.values.find(t.hash(env, v), nil)
		if err != nil {
			return held, err
		}
		n := 8 * len(found)
		held += n
		if err := env.Memory.GrowRequired(n, t.docs.what); err != nil {
			return held, err
		}
		for _, i := range byValue[at] {
			if rows[i].matches == nil {
				rows[i].matches = found
				continue
			}
			both := append(slices.Clone(rows[i].matches), found...)
			slices.Sort(both)
			rows[i].matches = slices.Compact(both)
		}
	}
	return held, nil
}

// find returns the positions of the documents that have any of the values, ascending.
//
// Errors: errors of the temporary file.
func (t *lookupTable) find(env *mql.Env, values []bson.Value) (all []int, err error) {
	for _, v := range values {
		if all, err = t.values.find(t.hash(env, v), all); err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
