package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// currentDate is $currentDate: the time now, where $$NOW is that of the command's start.
func currentDate(env *mql.Env, s *Scratch) bson.Value { return s.DateTime(env.ClockMillis()) }
