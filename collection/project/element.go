package project

import "github.com/cantledb/cantle/bson"

// element appends the projected field of a find's $elemMatch: an array with the first element of v that matches;
// nothing if there is none.
// Manual: reference/operator/projection/elemMatch.
func (r *run) element(k *child, v bson.Value) error {
	e, ok, err := k.elem.Find(r.env, v, r.s)
	if !ok || err != nil {
		return err
	}
	r.dst.BeginArray(k.name)
	r.dst.Value("", e)
	r.dst.End()
	return nil
}
