package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/shard"
)

// ShardKeyArg reads a shard key given as a path or as a key pattern.
func (c *Call) ShardKeyArg(name string, v bson.Value) (bson.Raw, error) {
	switch v.Type {
	case bson.TypeMissing:
		return nil, nil
	case bson.TypeDocument:
		d, _ := v.Doc()
		return d, nil
	}
	s, err := c.StringArg(name, v)
	if err != nil {
		return nil, err
	}
	if _, err := path.Compile(s); err != nil || s == "" {
		return nil, mongoerr.New(mongoerr.BadValue, "'%s' is not a path for a shard key", s)
	}
	b := bson.NewBuilder(nil)
	b.String(s, "hashed")
	return b.Doc(), nil
}

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
