package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// newUUID is $createUUID.
func newUUID(_ *mql.Env, s *Scratch) bson.Value {
	u := bson.NewUUID()
	return s.Binary(4, u[:])
}
