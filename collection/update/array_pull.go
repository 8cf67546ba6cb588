package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var opPull = Operator{Name: "$pull", parse: parsePull, Doc: "reference/operator/update/pull"}

func parsePull(p *parser, _ *fieldPath, arg bson.Value) (action, error) {
	c, err := match.ParseCondition(p.env, arg)
	if err != nil {
		return nil, err
	}
	return pullAction{c}, nil
}

// pullAction removes the elements that satisfy a condition.
type pullAction struct{ condition *match.Condition }

func (pullAction) traits() traits { return tolerant }

func (p pullAction) apply(a *applier, _ *node, old bson.Value) (bson.Value, outcome, error) {
	return a.cull(old, "$pull", func(v bson.Value) (bool, error) { return p.condition.Holds(a.env, v, a.s) })
}

// cull returns an array without the elements for which drop returns true, for $pull and $pullAll. name is that of
// the operator, for errors.
func (a *applier) cull(old bson.Value, name string, drop func(v bson.Value) (bool, error)) (bson.Value, outcome, error) {
	arr, ok := old.Array()
	switch {
	case old.IsMissing():
		return old, keep, nil
	case !ok:
		return old, keep, mongoerr.New(mongoerr.BadValue, "Cannot apply %s to a non-array value", name)
	}
	all := a.elementsOf(arr)
	rest := all[:0]
	for _, v := range all {
		out, err := drop(v)
		if err != nil {
			return old, keep, err
		}
		if !out {
			rest = append(rest, v)
		}
		if err := a.env.Tick(); err != nil {
			return old, keep, err
		}
	}
	if len(rest) == len(all) {
		return old, keep, nil
	}
	return a.array(rest), set, nil
}
