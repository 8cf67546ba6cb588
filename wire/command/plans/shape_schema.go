package plans

import "github.com/cantledb/cantle/bson"

// schema returns the argument of $jsonSchema without its values: the names of fields and of types remain.
func (s shaper) schema(d bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := d.Iter(); it.Next(); {
		v := it.Value
		inner, isDoc := v.Doc()
		switch string(it.Name) {
		case "type", "bsonType", "required", "uniqueItems":
		case "properties", "patternProperties", "dependencies":
			v = s.schemas(inner).Value()
		case "items", "additionalItems", "additionalProperties", "not", "allOf", "anyOf", "oneOf":
			if list, ok := v.Array(); ok {
				v = s.schemas(list).ArrayValue()
			} else if isDoc {
				v = s.schema(inner).Value()
			}
		default:
			v = placeholder(v)
		}
		b.ValueBytes(it.Name, v)
	}
	return b.Doc()
}

// schemas returns the schemas in a document or array without their values. A list of names remains.
func (s shaper) schemas(d bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := d.Iter(); it.Next(); {
		v := it.Value
		if inner, ok := v.Doc(); ok && s.env.Tick() == nil {
			v = s.schema(inner).Value()
		}
		b.ValueBytes(it.Name, v)
	}
	return b.Doc()
}
