package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// typeName is $type.
func typeName(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	return s.String(a[0].Type.String()), nil
}

// isNumber is $isNumber.
func isNumber(_ *mql.Env, _ *Scratch, a []bson.Value) (bson.Value, error) {
	return bson.Bool(a[0].IsNumber()), nil
}
