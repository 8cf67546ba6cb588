package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// bsonSize is $bsonSize.
func bsonSize(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	d, ok := a[0].Doc()
	if !ok {
		return a[0], mongoerr.New(31393, "$bsonSize requires a document input, found: %s", a[0].Type)
	}
	return s.Int32(int32(len(d))), nil
}

// binarySize is $binarySize: the number of bytes of a string or of binary data.
func binarySize(_ *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	if a[0].IsNullish() {
		return bson.Null, nil
	}
	if _, b, ok := a[0].Binary(); ok {
		return s.Int32(int32(len(b))), nil
	}
	if a[0].Type != bson.TypeString {
		return a[0], mongoerr.New(51276, "$binarySize requires a string or BinData argument, found: %s", a[0].Type)
	}
	t, _ := a[0].Text()
	return s.Int32(int32(len(t))), nil
}
