package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
)

// RefuseInValidator rejects operators that a validator may not use.
func RefuseInValidator(d bson.Raw) error {
	for it := d.Iter(); it.Next(); {
		switch name := string(it.Name); name {
		case "$where", "$text":
			return mongoerr.New(mongoerr.BadValue, "%s is not allowed in this context", name)
		case "$near", "$nearSphere", "$geoNear":
			return mongoerr.New(5626500, "%s is not allowed in this context", name)
		case "$expr", "$jsonSchema":
			continue
		}
		if inner, ok := it.Value.Doc(); ok {
			if err := RefuseInValidator(inner); err != nil {
				return err
			}
		} else if list, ok := it.Value.Array(); ok {
			if err := RefuseInValidator(list); err != nil {
				return err
			}
		}
	}
	return nil
}
