package mql

import (
	"strings"

	"github.com/cantledb/cantle/bson"
)

// elementHeld and dotHeld are upper bounds, in heap bytes, of the memory for one element of a parsed filter or
// expression and for one dot in its paths.
const elementHeld, dotHeld = 200, 40

// ParsedHeld returns an upper bound of the bytes that a filter, a schema or an expression occupies in memory once it
// is parsed, in addition to the bytes of its BSON d.
func ParsedHeld(d bson.Raw) (n int64) {
	for it := d.Iter(); it.Next(); {
		name, v := string(it.Name), it.Value
		n += elementHeld + int64(strings.Count(name, "."))*dotHeld
		switch v.Type {
		case bson.TypeString:
			s, _ := v.Str()
			if n += int64(strings.Count(s, ".")) * dotHeld; name == "$regex" || name == "regex" || name == "pattern" {
				n += RegexHeld(s)
			}
		case bson.TypeRegex:
			pattern, _, _ := v.Regex()
			n += RegexHeld(pattern)
		case bson.TypeDocument:
			sub, _ := v.Doc()
			if n += ParsedHeld(sub); name == "patternProperties" {
				for pattern := range sub.Fields() {
					n += RegexHeld(string(pattern))
				}
			}
		case bson.TypeArray:
			sub, _ := v.Array()
			n += ParsedHeld(sub)
		}
	}
	return n
}
