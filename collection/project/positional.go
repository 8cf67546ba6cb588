package project

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// positional is the operator $ at the end of a path in a find's projection: it reduces the first array on the path
// to the element that matches the find's filter.
// Manual: reference/operator/projection/positional.
type positional struct{ filter match.Node }

func newPositional(filter match.Node) (*positional, error) {
	var err error
	match.Walk(filter, func(n match.Node) {
		switch n.(type) {
		case *match.Expr:
			err = mongoerr.New(mongoerr.QueryFeatureNotAllowed, "$expr is not allowed in this context")
		case *match.Schema:
			err = mongoerr.New(mongoerr.QueryFeatureNotAllowed, "$jsonSchema is not allowed in this context")
		}
	})
	return &positional{match.Normalize(filter)}, err
}

// position appends an array with only the element to which the positional operator refers, after applying the rest
// of the projected path to this element.
func (r *run) position(t *tree, k *child, arr bson.Raw) error {
	if !r.indexed {
		i, ok, err := match.MatchPosition(r.env, r.root, r.pos.filter, r.s)
		if err != nil {
			return err
		}
		if !ok {
			return mongoerr.New(51246, "Executor error during find command :: caused by :: positional operator '.$' couldn't find a matching element in the array")
		}
		r.index, r.indexed = i, true
	}
	v, ok := arr.Index(r.index)
	if !ok {
		return mongoerr.New(51247, "Executor error during find command :: caused by :: positional operator '.$' element mismatch")
	}
	r.dst.BeginArray(k.name)
	_, err := r.value(t, k, "", v, false)
	r.dst.End()
	return err
}
