package expr_test

import (
	"testing"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/expr"
)

// The example of Manual: reference/operator/aggregation/toHashedIndexKey.
func TestHashedIndexKeyOfTheManual(t *testing.T) {
	v := bsontest.Value(t, `"string to hash"`)
	if got := expr.HashedIndexKey(v); got != 763543691661428748 {
		t.Errorf("got %d", got)
	}
}
