package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// newObjectID is $createObjectId.
func newObjectID(_ *mql.Env, s *Scratch) bson.Value { return s.ObjectID(bson.NewObjectID()) }
