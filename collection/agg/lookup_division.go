package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// lookupDivision divides the sub-pipeline of a $lookup with an equality: the read of the foreign collection, which
// serves the rows of a batch together, takes the first conditions; the other stages run for each row.
type lookupDivision struct {
	// lead are the conditions of the leading $match stages that are the same for all rows. The read of a batch
	// evaluates them together with the equality, so that an index on both serves it. Nil without such conditions.
	lead match.Node
	// rest is the sub-pipeline without lead, nil if there is none. It runs on the documents that a row joins.
	rest *Pipeline
	// whole is the optimised sub-pipeline. Behind an equality with the values of one row, it is one query for the
	// planner.
	whole *Pipeline
	// cuts reports that whole needs only the first documents of a row: it begins with a $limit, in the order of a
	// $sort or any order, after $match stages.
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
	var lead, kept []match.Node
	for len(stages) > 0 {
		m, ok := stages[0].(*matchStage)
		if !ok || m.meta {
			break
		}
		for _, c := range conjuncts(m.node, nil) {
			if match.Features(c) == 0 {
				lead = append(lead, c)
			} else {
				kept = append(kept, c)
			}
		}
		stages = stages[1:]
	}
	if len(lead) > 0 {
		d.lead = match.AllOf(lead...)
	}
	f := d.whole.with(stages).Front()
	d.cuts = f.Limit > 0 && f.Filter == nil
	if len(kept) > 0 {
		stages = append([]Stage{&matchStage{node: match.AllOf(kept...)}}, stages...)
	}
	d.rest = d.whole.with(stages)
	return d
}

// ownMatches marks a row whose foreign documents are read by a query of its own when the row is delivered.
var ownMatches = []int{-2}

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
		switch v.Type {
		case bson.TypeNull:
			c |= classNull
		case bson.TypeRegex:
			c |= classRegex
		case bson.TypeString, bson.TypeSymbol, bson.TypeDocument, bson.TypeArray:
			c |= classCollated
		}
	}
	return c
}

// ownQuery returns the sub-pipeline behind an equality with the values of one row.
func (o *lookupOp) ownQuery(env *mql.Env, values []bson.Value) (*Pipeline, error) {
	b := bson.NewBuilder(nil)
	equalsAny(b, o.foreign.String(), values)
	n, err := match.Parse(env, b.Doc())
	if err != nil {
		return nil, err
	}
	w := o.division.whole
	return w.with(append([]Stage{&matchStage{node: n}}, w.stages...)), nil
}

// readsAlone reports whether a row with the given values is joined by a query of its own: the sub-pipeline needs only
// the row's first documents, and an index finds them without reading the others. All rows with values of the same
// class are read alike.
func (o *lookupOp) readsAlone(env *mql.Env, values []bson.Value) (bool, error) {
	if !o.division.cuts {
		return false, nil
	}
	class := classOf(values)
	if alone, known := o.alone[class]; known {
		return alone, nil
	}
	p, err := o.ownQuery(env, values)
	if err != nil {
		return false, err
	}
	a, err := o.opener.Survey(env, o.ns, p, o.foreign.String())
	if err != nil {
		return false, err
	}
	if o.alone == nil {
		o.alone = map[valueClass]bool{}
	}
	o.alone[class] = a.Direct
	return a.Direct, nil
}

// openAlone opens the query of one row. inner has the variables of the row.
func (o *lookupOp) openAlone(inner *mql.Env, doc bson.Raw) (exec.Operator, error) {
	o.rowValues.reset()
	o.joinValues(doc, func(v bson.Value) { o.rowValues.add(inner, v) })
	p, err := o.ownQuery(inner, o.rowValues.values)
	if err != nil {
		return nil, err
	}
	return o.opener.Open(inner, o.ns, p)
}

// joinValues calls add with the values by which a row joins: null stands for a missing value, as in the foreign
// field.
func (o *lookupOp) joinValues(doc bson.Raw, add func(v bson.Value)) {
	some := false
	localValues(doc, o.local, func(v bson.Value) {
		some = true
		if v.Type == bson.TypeUndefined {
			v = bson.Null
		}
		add(v)
	})
	if !some {
		add(bson.Null)
	}
}
