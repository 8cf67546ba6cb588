package expr_test

import (
	"testing"

	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
)

// The example of Manual: reference/operator/aggregation/toHashedIndexKey.
func TestHashedIndexKeyOfTheManual(t *testing.T) {
	v, err := ejson.ParseValue(`"string to hash"`)
	if err != nil {
		t.Fatal(err)
	}
	if got := expr.HashedIndexKey(v); got != 763543691661428748 {
		t.Errorf("got %d", got)
	}
}
