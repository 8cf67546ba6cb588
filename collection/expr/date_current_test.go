package expr_test

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/expr"
)

// $currentDate advances with the clock from one evaluation to the next, $$NOW does not.
func TestCurrentDateGoesOn(t *testing.T) {
	v := bsontest.Value(t, `{$subtract: [{$currentDate: {}}, "$$NOW"]}`)
	env := newEnv(t.Context())
	now := time.UnixMilli(env.NowMillis)
	env.Clock = func() time.Time { now = now.Add(time.Second); return now }
	e, err := expr.Parse(env, v)
	if err != nil {
		t.Fatal(err)
	}
	for want := int64(1000); want <= 3000; want += 1000 {
		got, err := e.Eval(env, bson.Empty, &expr.Scratch{})
		if n, _ := got.Int64(); err != nil || n != want {
			t.Errorf("%v ms since the start, %v; want %d", got, err, want)
		}
	}
}
