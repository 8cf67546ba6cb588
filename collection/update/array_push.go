package update

import (
	"math"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var opPush = Operator{Name: "$push", parse: parsePush, Doc: "reference/operator/update/push"}

func parsePush(p *parser, _ *fieldPath, arg bson.Value) (action, error) {
	push := &pushAction{position: math.MaxInt64, slice: math.MaxInt64}
	d, ok := arg.Doc()
	if _, each := d.Lookup("$each"); !ok || !each {
		push.values = []bson.Value{arg}
		return push, nil
	}
	for it := d.Iter(); it.Next(); {
		if err := push.clause(p, string(it.Name), it.Value); err != nil {
			return nil, err
		}
	}
	return push, nil
}

// opPushAll is $pushAll, which appends the values of an array. Azure Cosmos DB supports it. Source:
// "feature-support-70". MongoDB had it until 3.6.
var opPushAll = Operator{Name: "$pushAll", parse: parsePushAll}

func parsePushAll(_ *parser, _ *fieldPath, arg bson.Value) (action, error) {
	list, ok := arg.Array()
	if !ok {
		return nil, mongoerr.New(mongoerr.BadValue, "The argument to $pushAll must be an array but it was of type: %s", arg.Type)
	}
	return &pushAction{values: slices.Collect(list.Values()), position: math.MaxInt64, slice: math.MaxInt64}, nil
}

// pushAction is the effect of $push at a path: it adds values to an array, at the end unless $position is given,
// then sorts the array, then keeps only a slice of it. Manual: reference/operator/update/push#behavior.
type pushAction struct {
	values   []bson.Value
	position int64 // from the end if negative
	slice    int64 // keeps the first elements, or the last if negative
	sort     *pushSort
}

func (p *pushAction) clause(ps *parser, name string, v bson.Value) (err error) {
	switch name {
	case "$each":
		list, ok := v.Array()
		if !ok {
			return mongoerr.New(mongoerr.BadValue, "The argument to $each in $push must be an array but it was of type: %s", v.Type)
		}
		p.values = slices.Collect(list.Values())
	case "$position":
		p.position, err = integral("$position", v)
	case "$slice":
		p.slice, err = integral("$slice", v)
	case "$sort":
		p.sort, err = parsePushSort(ps.env, v)
	default:
		return mongoerr.New(mongoerr.BadValue, "Unrecognized clause in $push: %s", name)
	}
	return err
}

func integral(name string, v bson.Value) (int64, error) {
	n, ok := v.AsInt64()
	if !ok {
		return 0, mongoerr.New(mongoerr.BadValue, "The value for %s must be an integer value but was given type: %s", name, v.Type)
	}
	return n, nil
}

func (p *pushAction) traits() traits { return creates }

func (p *pushAction) apply(a *applier, n *node, old bson.Value) (bson.Value, outcome, error) {
	arr, ok := old.Array()
	if !ok && !old.IsMissing() {
		return old, keep, mongoerr.New(mongoerr.BadValue, "The field '%s' must be an array but is of type %s in document %s", n.path, old.Type, a.docID())
	}
	all := a.elementsOf(arr)
	at := int64(len(all))
	switch {
	case p.position < 0:
		at = max(0, at+max(p.position, -at))
	case p.position < at:
		at = p.position
	}
	all = slices.Insert(all, int(at), p.values...)
	a.values = all
	if p.sort != nil {
		if err := p.sort.sort(a, all); err != nil {
			return old, keep, err
		}
	}
	count := int64(len(all))
	switch {
	case p.slice >= 0 && p.slice < count:
		all = all[:p.slice]
	case p.slice < 0 && -p.slice < count && p.slice != math.MinInt64:
		all = all[count+p.slice:]
	}
	return a.array(all), set, nil
}
