package index

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// partialDepthMax limits the nesting of a partial filter.
const partialDepthMax = 4

// checkPartial returns an error for operators that the partial filter of an index may not use. match.Parse checks
// everything else.
// Manual: core/index-partial#behavior.
//
// Errors: CannotCreateIndex, QueryFeatureNotAllowed, BadValue.
func checkPartial(filter bson.Raw, depth int) error {
	if depth > partialDepthMax {
		return cannot("partialFilterExpression depth may not exceed %d", partialDepthMax)
	}
	for it := filter.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "$and", "$or":
			if err := checkPartialList(it.Value, depth); err != nil {
				return err
			}
		case "$expr":
			return mongoerr.New(mongoerr.QueryFeatureNotAllowed, "$expr is not supported for partial indexes")
		case "$where", "$text":
			return mongoerr.New(mongoerr.BadValue, "%s is not allowed in this context", name)
		case "$comment", "$alwaysTrue":
		default:
			if len(name) > 0 && name[0] == '$' {
				return unsupportedPartial(name)
			}
			if err := checkPartialField(it.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPartialList(v bson.Value, depth int) error {
	list, ok := v.Array()
	if !ok {
		return nil // match.Parse reports the error
	}
	for f := range list.Values() {
		if d, ok := f.Doc(); ok {
			if err := checkPartial(d, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkPartialField(v bson.Value) error {
	if v.Type == bson.TypeRegex {
		return unsupportedPartial("$regex")
	}
	d, ok := v.Doc()
	if !ok {
		return nil
	}
	for it := d.Iter(); it.Next(); {
		if len(it.Name) == 0 || it.Name[0] != '$' {
			return nil // a document to compare with
		}
		switch name := string(it.Name); name {
		case "$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$all", "$type", "$geoWithin", "$geoIntersects":
		case "$exists":
			if !it.Value.Truthy() {
				return unsupportedPartial("$exists: false")
			}
		case "$ref", "$id", "$db":
			return nil
		case "$near", "$nearSphere", "$text", "$where":
			return mongoerr.New(mongoerr.BadValue, "%s is not allowed in this context", name)
		default:
			return unsupportedPartial(name)
		}
	}
	return nil
}

func unsupportedPartial(what string) error {
	return cannot("Expression not supported in partial index: %s", what)
}
