package schema

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/command"
)

// clusteredArg reads the argument clusteredIndex of create, and returns it with its defaults added; nil for false or
// 0. The option does not change the order of records: without a shard key, the records of a collection that may have
// this option are always in _id order.
// Manual: core/clustered-collections.
// Errors: TypeMismatch (14), 5979700, 5979703, 5979704, InvalidIndexSpecificationOption (197), IDLFailedToParse
// (40414).
func clusteredArg(c *command.Call, v bson.Value) (bson.Raw, error) {
	const field = "clusteredIndex"
	if v.Type == bson.TypeBool || v.IsNumber() {
		if v.Truthy() {
			return nil, mongoerr.New(5979703, "The clusteredIndex: true format is only for internal collections; name the key: {clusteredIndex: {key: {_id: 1}, unique: true}}")
		}
		return nil, nil
	}
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.WrongType(c.Field(field), v.Type.String(), "bool", "object", "long", "int", "decimal", "double")
	}
	var key bson.Raw
	var unique bool
	version, name := int64(2), "_id_"
	err := c.ReadFields(field, d,
		arguments.Doc("key", &key).Required(),
		arguments.Bool("unique", &unique).Required(),
		arguments.Long("v", &version),
		arguments.String("name", &name),
	)
	switch {
	case err != nil:
		return nil, err
	case !unique:
		return nil, mongoerr.New(5979700, "The clusteredIndex option requires unique: true to be specified")
	case version != 2:
		return nil, mongoerr.New(5979704, "The clusteredIndex option does not support v: %d", version)
	}
	if n, ok := key.Get("_id").AsInt64(); !ok || n != 1 || key.Len() != 1 {
		return nil, mongoerr.New(mongoerr.InvalidIndexSpecificationOption, "The clusteredIndex option is not supported for key %s; the key must be {_id: 1}", key)
	}
	b := bson.NewBuilder(nil)
	b.Int32("v", 2)
	b.Raw("key", key)
	b.String("name", name)
	b.Bool("unique", true)
	return b.Doc(), nil
}
