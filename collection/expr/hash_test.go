package expr_test

import (
	"testing"

	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/wire/mongoerr"
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

// Expressions nested beyond the limit are refused, those within it are not.
func TestNestingLimit(t *testing.T) {
	env := newEnv(t.Context())
	for _, c := range []struct {
		levels int
		want   mongoerr.Code
	}{{150, 0}, {300, mongoerr.Overflow}} {
		text := `"$a"`
		for range c.levels {
			text = `{$abs: ` + text + `}`
		}
		v, err := ejson.ParseValue(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := expr.Parse(env, v); mongoerr.CodeOf(err) != c.want {
			t.Errorf("%d levels: %v", c.levels, err)
		}
	}
}
