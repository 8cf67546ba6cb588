package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
)

// IndexesMax bounds the specifications of one createIndexes; the collection's
// own limit is lower.
const IndexesMax = 1000

// WithSuffix returns a shard key with the suffix given beside it, if one is: the
// documents of one value are spread over buckets.
// Errors: BadValue (2) for a suffix without a key, those of shard.WithSuffix.
func WithSuffix(key, suffix bson.Raw) (bson.Raw, error) {
	switch {
	case suffix == nil:
		return key, nil
	case key == nil:
		return nil, mongoerr.New(mongoerr.BadValue, "suffix goes with a shard key, and none is given")
	}
	return shard.WithSuffix(key, suffix)
}

// HasHashedField reports a shard key with a hashed field.
func HasHashedField(key bson.Raw) bool {
	for _, v := range key.Fields() {
		if s, ok := v.Str(); ok && s == "hashed" {
			return true
		}
	}
	return false
}
