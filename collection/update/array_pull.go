package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/wire/mongoerr"
)

var opPull = Operator{Name: "$pull", parse: parsePull, Doc: "reference/operator/update/pull"}

func parsePull(p *parser, _ *fieldPath, arg bson.Value) (action, error) {
	c, err := match.ParseCondition(p.env, arg)
	if err != nil {
		return nil, err
	}
	return cullAction{func(a *applier, v bson.Value) (bool, error) { return c.Holds(a.env, v, a.s) }}, nil
}

// cullAction removes the elements for which drop says so: $pull and $pullAll.
type cullAction struct {
	drop func(a *applier, v bson.Value) (bool, error)
}

func (cullAction) traits() traits { return tolerant }

func (c cullAction) apply(a *applier, _ *node, old bson.Value) (bson.Value, outcome, error) {
	arr, ok := old.Array()
	switch {
	case old.IsMissing():
		return old, keep, nil
	case !ok:
		return old, keep, mongoerr.New(mongoerr.BadValue, "Cannot apply $pull to a non-array value")
	}
	all := a.elementsOf(arr)
	rest := all[:0]
	for _, v := range all {
		drop, err := c.drop(a, v)
		if err != nil {
			return old, keep, err
		}
		if !drop {
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
