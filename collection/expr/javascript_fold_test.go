package expr

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// TestFold requires that a state of many calls is not converted between them: a property that BSON lacks is kept. An
// error ends the calls.
func TestFold(t *testing.T) {
	env := mql.NewEnv(t.Context())
	vm, err := NewVM()
	if err != nil {
		t.Fatal(err)
	}
	fold := func(source string, calls int) (bson.Value, error) {
		c, err := CompileScript(env, source)
		if err != nil {
			t.Fatal(err)
		}
		var lists []bson.Raw
		for range calls {
			list, _ := bsontest.Value(t, "[2, 'x']").Array()
			lists = append(lists, list)
		}
		return vm.Fold(env, c, &bson.Arena{}, bsontest.Value(t, "{n: 1, s: ''}"), lists)
	}
	const count = "function(s, n, x) { var k = Symbol.for('calls'); s[k] = (s[k] || 0) + 1; return Object.assign(s, {n: s.n + n, s: s.s + x, calls: s[k]}) }"
	v, err := fold(count, 3)
	if got := ejson.ValueString(v); err != nil || got != `{"n":7.0,"s":"xxx","calls":3.0}` {
		t.Errorf("%s, %v", got, err)
	}
	if v, err = fold(count, 0); err != nil || ejson.ValueString(v) != `{"n":1,"s":""}` {
		t.Errorf("without calls: %s, %v", ejson.ValueString(v), err)
	}
	if _, err = fold("function(s) { if (s.a) throw new Error('no'); return {a: 1} }", 3); mongoerr.CodeOf(err) != mongoerr.JSInterpreterFailure {
		t.Errorf("%v", err)
	}
}
