package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// currentDate is $currentDate: it returns the time of its evaluation, while $$NOW is the start of the command.
func currentDate(env *mql.Env, s *Scratch) bson.Value { return s.DateTime(env.ClockMillis()) }
