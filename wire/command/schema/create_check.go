package schema

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/wire/command"
)

// checkCreate refuses arguments of create that are not allowed together, or that require another one.
// Errors: InvalidOptions (72) and numbered codes.
func checkCreate(c *command.Call, ns collection.Namespace, o *createOptions) error {
	invalid := func(format string, args ...any) error { return mongoerr.New(mongoerr.InvalidOptions, format, args...) }
	switch {
	case o.hasClustered && o.capped:
		return mongoerr.New(6049200, "The capped option cannot be used with clusteredIndex")
	case o.clustered != nil && o.isView():
		return mongoerr.New(6026500, "The 'clusteredIndex' option is not supported with 'viewOn'")
	case o.clustered != nil && o.timeseries != nil:
		return invalid("The 'clusteredIndex' option cannot be used with 'timeseries'")
	case o.clustered != nil && o.idIndex != nil:
		return invalid("The 'clusteredIndex' option is not supported with the 'idIndex' option")
	case o.clustered != nil && o.hasMax:
		return mongoerr.New(6049204, "The 'max' option cannot be used with clusteredIndex")
	case o.pipeline != nil && !o.isView():
		return invalid("'pipeline' requires 'viewOn' to also be specified")
	case o.isView() && o.timeseries != nil:
		return invalid("Time-series options cannot be used with 'viewOn'")
	case o.idIndex != nil && (o.isView() || o.timeseries != nil):
		return invalid("'idIndex' is not allowed with 'viewOn' or 'timeseries'")
	case o.isView() && o.hasExpire, o.hasExpire && o.timeseries == nil && o.clustered == nil:
		return invalid("'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified")
	case o.images && o.isView():
		return invalid("'changeStreamPreAndPostImages' is not supported on a view: %s", ns)
	case o.hasImages && o.timeseries != nil:
		return invalid("'changeStreamPreAndPostImages' is not supported on a time-series collection: %s", ns)
	case o.isView() && o.shardKey != nil:
		return invalid("A view cannot have a shard key")
	}
	if o.isView() {
		return nil // the other options are ignored
	}
	switch {
	case o.timeseries != nil && (o.capped || o.validator != nil || o.level != "" || o.action != ""):
		return invalid("Time-series collections do not support capped, validator, validationLevel and validationAction")
	case o.capped && !o.hasSize:
		return invalid("the 'size' field is required when 'capped' is true")
	case !o.capped && (o.hasSize || o.hasMax):
		return invalid("the 'capped' field needs to be true when either the 'size' or 'max' fields are present")
	case o.capped && o.shardKey != nil:
		return invalid("A capped collection cannot have a shard key")
	}
	if err := checkConstraint(o.level, o.action); err != nil {
		return err
	}
	if o.idIndex != nil {
		return checkIDIndex(c, o)
	}
	return nil
}

// checkIDIndex checks that the argument idIndex of create describes the _id index that every collection has. The name
// in it is ignored: it becomes "_id_".
// Errors: BadValue (2), InvalidIndexSpecificationOption (197), errors of index.ParseSpec.
func checkIDIndex(c *command.Call, o *createOptions) error {
	if key, ok := o.idIndex.Get("key").Doc(); ok && o.idIndex.Has("name") {
		if n, ok := key.Get("_id").AsInt64(); !ok || n != 1 || key.Len() != 1 {
			return mongoerr.New(mongoerr.BadValue, "The field 'key' for an _id index must be {_id: 1}, but got %s", key)
		}
	}
	for it := o.idIndex.Iter(); it.Next(); {
		switch string(it.Name) {
		case "key", "name", "v", "collation", "ns":
			if string(it.Name) == "v" && it.Value.IsNumber() {
				if _, ok := it.Value.AsInt64(); !ok {
					return mongoerr.New(mongoerr.BadValue, "The field 'v' must be convertible to an int, but got %s", it.Value)
				}
			}
		default:
			if o.idIndex.Has("key") && o.idIndex.Has("name") {
				return mongoerr.New(mongoerr.InvalidIndexSpecificationOption, "The field '%s' is not valid for an _id index specification. Specification: %s", it.Name, o.idIndex)
			}
		}
	}
	spec, err := index.ParseSpec(c.Env(), o.idIndex)
	if err != nil {
		return err
	}
	if o.idIndex.Has("collation") && !spec.Collation.Equal(o.collation) {
		return mongoerr.New(mongoerr.BadValue, "The _id index must have the same collation as the collection. Index collation: %s, collection collation: %s",
			collationDoc(spec.Collation), collationDoc(o.collation))
	}
	return nil
}

// collationDoc returns a collation with all its options.
func collationDoc(c *mql.Collation) bson.Raw {
	b := bson.NewBuilder(nil)
	if c == nil {
		b.String("locale", "simple")
		return b.Doc()
	}
	c.Append(b, "c")
	d, _ := b.Doc().Get("c").Doc()
	return d
}

// document returns the options of create in the form in which the catalog stores them and listCollections shows them.
func (o *createOptions) document() bson.Raw {
	b := bson.NewBuilder(nil)
	if o.encrypted != nil { // not allowed for a view: the catalog refuses it
		b.Raw("encryptedFields", o.encrypted)
	}
	if o.isView() {
		b.String("viewOn", o.viewOn)
		if o.pipeline == nil {
			o.pipeline = bson.NewArrayBuilder(nil).Doc()
		}
		b.Array("pipeline", o.pipeline)
		o.collation.Append(b, "collation")
		return b.Doc()
	}
	if o.capped {
		b.Bool("capped", true)
		b.Int("size", (o.size+255)/256*256) // MongoDB also rounds the size up to a multiple of 256
		if o.max > 0 {
			b.Int("max", o.max)
		}
	}
	if o.images {
		b.BeginDoc("changeStreamPreAndPostImages")
		b.Bool("enabled", true)
		b.End()
	}
	if !o.storage.IsEmpty() {
		b.Raw("storageEngine", o.storage)
	}
	if !o.indexDefault.IsEmpty() {
		b.Raw("indexOptionDefaults", o.indexDefault)
	}
	if !o.validator.IsEmpty() {
		b.Raw("validator", o.validator)
	}
	if o.level != "" {
		b.String("validationLevel", o.level)
	}
	if o.action != "" {
		b.String("validationAction", o.action)
	}
	o.collation.Append(b, "collation")
	if o.clustered != nil {
		b.Raw("clusteredIndex", o.clustered)
	}
	if o.timeseries != nil {
		b.Raw("timeseries", o.timeseries)
	}
	if o.hasExpire {
		b.Int64("expireAfterSeconds", o.expire)
	}
	return b.Doc()
}
