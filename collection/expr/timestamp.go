package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// tsSecond is $tsSecond.
func tsSecond(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	t, _, ok := a[0].Timestamp()
	if !ok {
		return a[0], mongoerr.New(5687301, "Argument to $tsSecond must be a timestamp, but is %s", a[0].Type)
	}
	return s.Int64(int64(t)), nil
}

// tsIncrement is $tsIncrement.
func tsIncrement(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	_, i, ok := a[0].Timestamp()
	if !ok {
		return a[0], mongoerr.New(5687302, "Argument to $tsIncrement must be a timestamp, but is %s", a[0].Type)
	}
	return s.Int64(int64(i)), nil
}
