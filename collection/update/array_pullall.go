package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var opPullAll = Operator{Name: "$pullAll", parse: parsePullAll, Doc: "reference/operator/update/pullAll"}

func parsePullAll(p *parser, _ *fieldPath, arg bson.Value) (action, error) {
	list, ok := arg.Array()
	if !ok {
		return nil, mongoerr.New(mongoerr.BadValue, "$pullAll requires an array argument but was given a %s", arg.Type)
	}
	all := &pullAllAction{valueSet{order: p.env.Order()}}
	var buf []byte
	for v := range list.Values() {
		all.set.add(&buf, v)
	}
	return all, nil
}

// pullAllAction removes the elements that equal one of the values.
type pullAllAction struct{ set valueSet }

func (*pullAllAction) traits() traits { return tolerant }

func (p *pullAllAction) apply(a *applier, _ *node, old bson.Value) (bson.Value, outcome, error) {
	return a.cull(old, "$pullAll", func(v bson.Value) (bool, error) { return p.set.has(&a.buf, v), nil })
}
