package agg

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// lookupEqual is an equality of a foreign field with a variable of `let`, which the leading $match of a sub-pipeline
// requires in an $expr. With it, rows are joined in batches as by localField and foreignField. The $match stays in the
// sub-pipeline: the batch finds more documents than the $expr accepts, because an expression compares an array as one
// value.
type lookupEqual struct {
	foreign path.Path
	local   expr.Expr // the value of the variable: a path of the row
	only    bool      // the $expr has no other condition
}

// equalIn returns the first such equality in the conditions, nil if there is none. Field paths in a sub-pipeline that
// defines CURRENT anew mean other fields.
func equalIn(env *mql.Env, let []letVar, conditions []match.Node) *lookupEqual {
	for _, v := range let {
		if v.name == "CURRENT" {
			return nil
		}
	}
	if _, ok := env.Vars.Slot("CURRENT"); ok {
		return nil
	}
	for _, c := range conditions {
		if n, ok := c.(*match.Expr); ok {
			b := bson.NewBuilder(nil)
			n.Append(b)
			printed := b.Doc().Get("$expr")
			if e := equalOf(let, printed); e != nil {
				top, _ := printed.Doc()
				first, _ := top.First()
				e.only = string(first.Name) == "$eq"
				return e
			}
		}
	}
	return nil
}

// equalOf looks for an equality in a printed expression: {$eq: ["$field", "$$variable"]}, also exchanged, and inside
// $and.
func equalOf(let []letVar, v bson.Value) *lookupEqual {
	d, ok := v.Doc()
	if !ok || d.Len() != 1 {
		return nil
	}
	f, _ := d.First()
	args, ok := f.Value.Array()
	if !ok {
		return nil
	}
	switch string(f.Name) {
	case "$and":
		for a := range args.Values() {
			if e := equalOf(let, a); e != nil {
				return e
			}
		}
	case "$eq":
		if args.Len() != 2 {
			return nil
		}
		left, _ := args.Index(0)
		right, _ := args.Index(1)
		if e := equalOfOperands(let, left, right); e != nil {
			return e
		}
		return equalOfOperands(let, right, left)
	}
	return nil
}

func equalOfOperands(let []letVar, field, variable bson.Value) *lookupEqual {
	f, ok1 := field.Str()
	name, ok2 := variable.Str()
	if !ok1 || !ok2 || len(f) < 2 || f[0] != '$' || f[1] == '$' || !strings.HasPrefix(name, "$$") {
		return nil
	}
	p, err := path.Compile(f[1:])
	if err != nil || p.HasPosition() {
		return nil
	}
	for i := len(let) - 1; i >= 0; i-- {
		if let[i].name != name[2:] {
			continue
		}
		if _, plain := expr.FieldPath(let[i].e); plain {
			return &lookupEqual{foreign: p, local: let[i].e}
		}
		return nil
	}
	return nil
}

// value returns the value that the equality compares with for a row. ok is false for a value for which a query
// operator selects other documents than an expression: null, nothing, arrays, documents, and rare types.
func (e *lookupEqual) value(env *mql.Env, doc bson.Raw, s *expr.Scratch) (v bson.Value, ok bool, err error) {
	v, err = e.local.Eval(env, doc, s)
	switch v.Type {
	case bson.TypeDouble, bson.TypeInt32, bson.TypeInt64, bson.TypeDecimal128, bson.TypeString, bson.TypeObjectID,
		bson.TypeBool, bson.TypeDateTime, bson.TypeTimestamp, bson.TypeBinary:
		return v, err == nil, err
	}
	return v, false, err
}
