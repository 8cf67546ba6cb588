package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// subtype is $subtype: the subtype of binary data.
//
// Errors: TypeMismatch.
func subtype(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	v := a[0]
	if v.IsNullish() {
		return bson.Null, nil
	}
	sub, _, ok := v.Binary()
	if !ok {
		return v, mongoerr.New(mongoerr.TypeMismatch, "$subtype requires binary data, found: %s", v.Type)
	}
	return s.Int32(int32(sub)), nil
}
