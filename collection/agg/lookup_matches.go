package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

// document returns the foreign document at an index from the matches of a lookupRow, valid until the next call.
//
// Errors: errors of the table's temporary file.
func (o *lookupOp) document(at int) (bson.Raw, error) {
	if o.table != nil {
		return o.table.document(at)
	}
	return o.found[at], nil
}

// joinsDirectly reports whether a row's documents are delivered as its matches name them, without a sub-pipeline.
func (o *lookupOp) joinsDirectly(r *lookupRow) bool {
	rest := o.division.rest
	return o.foreign.Len() > 0 && (rest == nil || rest.IsEmpty()) && !r.is(ownMatches) && !r.is(separateMatches)
}

// documents returns the number of documents of the row that gather prepared.
func (o *lookupOp) documents(r *lookupRow) int {
	if o.direct {
		return len(r.matches)
	}
	return len(o.subOut)
}

// documentOf returns one of them, valid until the next call.
func (o *lookupOp) documentOf(r *lookupRow, i int) (bson.Raw, error) {
	if o.direct {
		return o.document(r.matches[i])
	}
	return o.subOut[i], nil
}

// matchesOp returns the foreign documents that a row joins.
type matchesOp struct {
	base
	lookup  *lookupOp
	matches []int
	row     exec.Row
}

func (o *matchesOp) Next(env *mql.Env) (*exec.Row, error) {
	if len(o.matches) == 0 {
		return nil, nil
	}
	if err := env.Tick(); err != nil {
		return nil, err
	}
	doc, err := o.lookup.document(o.matches[0])
	if err != nil {
		return nil, err
	}
	o.row, o.matches = exec.Row{Doc: doc}, o.matches[1:]
	o.returned++
	return &o.row, nil
}

// Park releases nothing: the operator has nothing open.
func (*matchesOp) Park() (int, bool) { return 0, true }
