package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var opAddToSet = Operator{Name: "$addToSet", parse: parseAddToSet, Doc: "reference/operator/update/addToSet"}

func parseAddToSet(_ *parser, _ *fieldPath, arg bson.Value) (action, error) {
	d, ok := arg.Doc()
	if f, _ := d.First(); !ok || string(f.Name) != "$each" {
		return addToSetAction{arg}, nil
	}
	if d.Len() != 1 {
		return nil, mongoerr.New(mongoerr.BadValue, "Found unexpected fields after $each in $addToSet: %s", d)
	}
	list, ok := d.Get("$each").Array()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"The argument to $each in $addToSet must be an array but it was of type %s", d.Get("$each").Type)
	}
	add := addToSetAction{}
	for v := range list.Values() {
		add = append(add, v)
	}
	return add, nil
}

// addToSetAction appends the values that are not in the array yet.
type addToSetAction []bson.Value

func (addToSetAction) traits() traits { return creates }

func (s addToSetAction) apply(a *applier, n *node, old bson.Value) (bson.Value, outcome, error) {
	arr, ok := old.Array()
	if !ok && !old.IsMissing() {
		return old, keep, mongoerr.New(mongoerr.BadValue,
			"Cannot apply $addToSet to non-array field. Field named '%s' has non-array type %s", n.name, old.Type)
	}
	all := a.elementsOf(arr)
	have := len(all)
	known := valueSet{order: a.env.Order(), values: all[:len(all):len(all)]}
	if have+len(s) > setLinearMax {
		known.values = nil
		for _, v := range all {
			known.add(&a.buf, v)
		}
	}
	for _, v := range s {
		if !known.has(&a.buf, v) {
			known.add(&a.buf, v)
			all = append(all, v)
		}
		if err := a.env.Tick(); err != nil {
			return old, keep, err
		}
	}
	a.values = all
	if len(all) == have && ok {
		return old, keep, nil
	}
	return a.array(all), set, nil
}
