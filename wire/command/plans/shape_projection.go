package plans

import (
	"strings"

	"github.com/cantledb/cantle/bson"
)

// projection returns the projection of a find without its values. The numbers and booleans that include or exclude a field remain.
func (s shaper) projection(d bson.Raw) bson.Raw {
	b := bson.NewBuilder(nil)
	for it := d.Iter(); it.Next(); {
		b.ValueBytes(it.Name, s.projected(it.Value))
	}
	return b.Doc()
}

// projected returns the value of one field of a projection without its values.
func (s shaper) projected(v bson.Value) bson.Value {
	d, isDoc := v.Doc()
	if !isDoc {
		if v.IsNumber() || v.Type == bson.TypeBool {
			return v
		}
		return s.value("", v)
	}
	first, _ := d.First()
	switch name := string(first.Name); {
	case name == "$meta":
		return v
	case name == "$elemMatch":
		s.filter = true
	case !strings.HasPrefix(name, "$"):
		return s.projection(d).Value()
	}
	return s.doc(d).Value()
}
