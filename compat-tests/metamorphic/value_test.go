package metamorphic

import (
	"cmp"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// missing stands for an absent field.
type missing struct{}

// rank is the place of a value's type in the comparison order. Manual:
// reference/bson-type-comparison-order
func rank(v any) int {
	switch v.(type) {
	case missing:
		return 0
	case nil:
		return 1
	case int32, int64, float64:
		return 2
	case string:
		return 3
	case bson.D:
		return 4
	case bson.A:
		return 5
	case bool:
		return 6
	case bson.DateTime:
		return 7
	}
	panic("value the model does not know")
}

// number returns a numeric value; all that the generator makes are exact as float64.
func number(v any) float64 {
	switch v := v.(type) {
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	panic("not a number")
}

// compare orders two values.
func compare(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case int32, int64, float64:
		return cmp.Compare(number(a), number(b))
	case string:
		return strings.Compare(a, b.(string))
	case bool:
		return cmp.Compare(bit(a), bit(b.(bool)))
	case bson.DateTime:
		return cmp.Compare(a, b.(bson.DateTime))
	case bson.A:
		other := b.(bson.A)
		for i := range min(len(a), len(other)) {
			if c := compare(a[i], other[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a), len(other))
	case bson.D:
		other := b.(bson.D)
		for i := range min(len(a), len(other)) {
			// Type first, then name, then value.
			if c := cmp.Compare(rank(a[i].Value), rank(other[i].Value)); c != 0 {
				return c
			}
			if c := strings.Compare(a[i].Key, other[i].Key); c != 0 {
				return c
			}
			if c := compare(a[i].Value, other[i].Value); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(a), len(other))
	}
	return 0
}

// bit makes a bool comparable.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// get returns a field of a document.
func get(doc bson.D, name string) any {
	for _, e := range doc {
		if e.Key == name {
			return e.Value
		}
	}
	return missing{}
}

// reach returns every value a dotted path reaches. Arrays on the way are entered; an
// array at the end is one value.
func reach(v any, path []string) []any {
	if len(path) == 0 {
		return []any{v}
	}
	switch v := v.(type) {
	case bson.D:
		child := get(v, path[0])
		if _, absent := child.(missing); absent {
			return []any{missing{}}
		}
		return reach(child, path[1:])
	case bson.A:
		var out []any
		for _, e := range v {
			if doc, ok := e.(bson.D); ok {
				out = append(out, reach(doc, path)...)
			}
		}
		return out
	}
	return []any{missing{}}
}
