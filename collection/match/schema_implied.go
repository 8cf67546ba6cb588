package match

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
)

// Implied returns the intervals that follow from the types and limits of required properties. A value of such a
// property is no array, so it has one index key, and the intervals hold for indexes with arrays in other documents too.
// The schema must still be evaluated on each document.
func (n *Schema) Implied() []Implied { return n.root.implied(nil, "") }

// implied appends the intervals of the required properties of documents that the schema accepts. prefix is the path of
// the documents, with a dot at its end.
func (s *schema) implied(list []Implied, prefix string) []Implied {
	required := map[string]bool{}
	for _, r := range s.rules {
		if r, ok := r.(*requiredRule); ok {
			for _, name := range r.names {
				required[name] = true
			}
		}
	}
	for _, r := range s.rules {
		properties, ok := r.(*propertiesRule)
		if !ok {
			continue
		}
		for _, p := range properties.list {
			if !required[p.name] || p.name == "" || strings.Contains(p.name, ".") {
				continue
			}
			at, err := path.Compile(prefix + p.name)
			if err != nil || at.HasPosition() {
				continue
			}
			ivs, document := p.s.intervals()
			if ivs != nil {
				list = append(list, Implied{at, ivs})
			}
			if document {
				list = p.s.implied(list, prefix+p.name+".")
			}
		}
	}
	return list
}

// intervals returns the intervals of the values that the schema accepts, nil if its types do not exclude arrays.
// document reports that it accepts documents only.
func (s *schema) intervals() (ivs []Interval, document bool) {
	numbers := false // only numbers are accepted
	for _, r := range s.rules {
		t, ok := r.(*typeRule)
		if !ok || t.set.has(bson.TypeArray) {
			continue
		}
		var own []Interval
		t.set.bounds(func(i Interval) { own = append(own, i) })
		ivs = own
		document, numbers = t.set.only(func(x bson.Type) bool { return x == bson.TypeDocument }), t.set.only(bson.Type.IsNumber)
		break
	}
	for _, r := range s.rules {
		if b, ok := r.(*boundRule); ok && numbers {
			var own []Interval
			b.test.bounds(func(i Interval) { own = append(own, i) })
			ivs = Intersect(ivs, own)
		}
	}
	return ivs, document
}

// only reports whether all types of the set satisfy a condition.
func (t *typeSet) only(is func(bson.Type) bool) bool {
	for x := range 256 {
		if t.has(bson.Type(x)) && !is(bson.Type(x)) {
			return false
		}
	}
	return true
}
