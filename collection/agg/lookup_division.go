package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// lookupDivision divides the sub-pipeline of a $lookup with an equality: the read of the foreign collection, which
// serves the rows of a batch together, takes the first conditions; the other stages run for each row.
type lookupDivision struct {
	// lead are the conditions of the leading $match stages that are the same for all rows. The read of a batch
	// evaluates them together with the equality, so that an index on both serves it. With them are the fixedComparisons of
	// conditions. Nil without such conditions.
	lead match.Node
	// rest is the sub-pipeline without lead, nil if there is none. It runs on the documents that a row joins.
	rest *Pipeline
	// conditions are those of the leading $match stages that may differ by row: they may use its variables.
	conditions []match.Node
	// whole is the optimised sub-pipeline. Behind an equality with the values of one row, it is one query for the
	// planner.
	whole *Pipeline
	// cuts reports that an index can spare whole most reads of a row's documents. After $match stages, it begins with a
	// $limit, in the order of a $sort or any order, or it counts all documents that have the equality.
	cuts bool
}

// divide divides a sub-pipeline on the collection ns; sub is nil for a $lookup without one. A sub-pipeline that reads
// metadata or makes its own documents is not divided.
func divide(sub *Pipeline, ns string) lookupDivision {
	switch {
	case sub == nil:
		return lookupDivision{}
	case startsWithDocuments(sub):
		return lookupDivision{rest: sub.with(sub.stages[1:])}
	case sub.metas != 0 || ns == "" || sub.ReadsBySelf():
		return lookupDivision{rest: sub}
	}
	d := lookupDivision{whole: sub.Optimize()}
	stages := d.whole.stages
	var lead []match.Node
	for len(stages) > 0 {
		m, ok := stages[0].(*matchStage)
		if !ok || m.meta {
			break
		}
		for _, c := range conjuncts(m.node, nil) {
			if match.Features(c) == 0 {
				lead = append(lead, c)
			} else {
				d.conditions = append(d.conditions, c)
				lead = fixedComparisons(c, lead)
			}
		}
		stages = stages[1:]
	}
	if len(lead) > 0 {
		d.lead = match.AllOf(lead...)
	}
	f := d.whole.with(stages).Front()
	d.cuts = f.Filter == nil && (f.Limit > 0 || f.Count && len(d.conditions) == 0)
	if len(d.conditions) > 0 {
		stages = append([]Stage{&matchStage{node: match.AllOf(d.conditions...)}}, stages...)
	}
	d.rest = d.whole.with(stages)
	return d
}

// ownMatches marks a row whose foreign documents are read by a query of its own when the row is delivered.
var ownMatches = []int{-2}

// separateMatches marks a row whose sub-pipeline runs without an equality when the row is delivered.
var separateMatches = []int{-3}

// valueClass is a set of properties of the values of a row that decide which indexes can find them.
type valueClass uint8

const (
	classNull     valueClass = 1 << iota // null: a sparse index has no entry for it
	classCollated                        // a value that a collation compares
	classRegex
	classSeveral
)

func classOf(values []bson.Value) (c valueClass) {
	if len(values) > 1 {
		c = classSeveral
	}
	for _, v := range values {
		switch {
		case v.Type == bson.TypeNull:
			c |= classNull
		case v.Type == bson.TypeRegex:
			c |= classRegex
		case v.Type.HoldsText():
			c |= classCollated
		}
	}
	return c
}

// ownQuery returns the sub-pipeline behind an equality with the values of one row.
func (o *lookupOp) ownQuery(env *mql.Env, values []bson.Value) (*Pipeline, error) {
	n, err := equality(env, o.foreign, values)
	if err != nil {
		return nil, err
	}
	w := o.division.whole
	return w.with(append([]Stage{&matchStage{node: n}}, w.stages...)), nil
}

// readsAlone reports whether a row with the given values is joined by a query of its own, because an index finds what
// the sub-pipeline needs of the row's documents without reading the others.
func (o *lookupOp) readsAlone(env *mql.Env, doc bson.Raw, values []bson.Value) (bool, error) {
	if !o.division.cuts && !o.selective {
		return false, nil
	}
	a, err := o.surveyRow(env, doc, values)
	return o.division.cuts && a.Direct || o.selective && a.Indexed, err
}

// surveyRow returns how the query of the row doc with the given values is read. All rows with values of the same class
// are read alike.
func (o *lookupOp) surveyRow(env *mql.Env, doc bson.Raw, values []bson.Value) (Access, error) {
	class := classOf(values)
	if a, known := o.alone[class]; known {
		return a, nil
	}
	var s expr.Scratch // of the variables, whose values bound indexes
	defer s.Close()
	inner, err := bind(env, o.let, doc, &s, false)
	if err != nil {
		return Access{}, nil // the error is that of the row, once it is delivered
	}
	p, err := o.ownQuery(inner, values)
	if err != nil {
		return Access{}, err
	}
	a, err := o.opener.Survey(inner, o.ns, p, o.foreign.String())
	if err != nil {
		return Access{}, err
	}
	if o.alone == nil {
		o.alone = map[valueClass]Access{}
	}
	o.alone[class] = a
	return a, nil
}

// foundPerRow is the number of documents that a batch finds per row from which on queries of single rows read less.
const foundPerRow = 32

// isSelective reports whether a batch has now found foundPerRow documents for each of its rows, although an index finds
// the documents of one row and the leading $match has further conditions that depend on the row. Then it sets
// selective: this batch and later rows are read by a query for each row.
func (o *lookupOp) isSelective(env *mql.Env, rows []lookupRow) (bool, error) {
	if o.selective || len(o.found) != foundPerRow*len(rows) || o.division.whole == nil || !o.varies() {
		return false, nil
	}
	a, err := o.surveyRow(env, rows[0].row.Doc, o.values.values[:1])
	o.selective = a.Indexed
	return o.selective, err
}

// varies reports whether a condition that depends on the row is left to the sub-pipeline, besides the equality.
func (o *lookupOp) varies() bool {
	c := o.division.conditions
	return len(c) > 1 || len(c) == 1 && (o.equal == nil || !o.equal.only)
}

// openAlone opens the query of one row. inner has the variables of the row.
func (o *lookupOp) openAlone(inner *mql.Env, doc bson.Raw) (exec.Operator, error) {
	if _, err := o.joinValues(inner, doc); err != nil {
		return nil, err
	}
	p, err := o.ownQuery(inner, o.rowValues.values)
	if err != nil {
		return nil, err
	}
	return o.opener.Open(inner, o.ns, p)
}

// joinValues sets rowValues to the values by which a row joins; null stands for a missing value, as in the foreign
// field. ok is false if the row cannot join by an equality, but only by the expression.
func (o *lookupOp) joinValues(env *mql.Env, doc bson.Raw) (ok bool, err error) {
	o.rowValues.reset()
	if o.equal != nil {
		o.scratch.Reset()
		v, ok, err := o.equal.value(env, doc, &o.scratch)
		if ok {
			o.rowValues.add(env, v)
		}
		return ok, err
	}
	some := false
	localValues(doc, o.local, func(v bson.Value) {
		some = true
		if v.Type == bson.TypeUndefined {
			v = bson.Null
		}
		o.rowValues.add(env, v)
	})
	if !some {
		o.rowValues.add(env, bson.Null)
	}
	return true, nil
}
