package bson_test

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
)

func TestLiteral(t *testing.T) {
	inner := bson.D{{"a", 1}}.Doc()
	d := bson.D{{"find", "c"}, {"n", nil}, {"b", true}, {"i", 1}, {"l", 1 << 40}, {"i32", int32(2)}, {"i64", int64(2)}, {"f", 1.5}, {"bytes", []byte("x")},
		{"v", inner.Get("a")}, {"missing", inner.Get("b")}, {"raw", inner}, {"d", bson.D{{"e", bson.D{}}}}, {"list", bson.A{1, "x", bson.D{{"y", bson.A{}}}, inner}}}.Doc()
	const want = `{"find":"c","n":null,"b":true,"i":{"$numberInt":"1"},"l":{"$numberLong":"1099511627776"},"i32":{"$numberInt":"2"},"i64":{"$numberLong":"2"},` +
		`"f":{"$numberDouble":"1.5"},"bytes":{"$binary":{"base64":"eA==","subType":"00"}},"v":{"$numberInt":"1"},"raw":{"a":{"$numberInt":"1"}},"d":{"e":{}},` +
		`"list":[{"$numberInt":"1"},"x",{"y":[]},{"a":{"$numberInt":"1"}}]}`
	if got := ejson.Canonical(d); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a channel is accepted")
		}
	}()
	bson.D{{"c", make(chan int)}}.Doc()
}
