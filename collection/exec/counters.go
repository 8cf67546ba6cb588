package exec

import "github.com/cantledb/cantle/bson"

// SumOf returns the sum of the counter with a name, such as "docsExamined", over all stages of a plan tree as
// Operator.Explain prints it.
func SumOf(d bson.Raw, name string) (n int64) {
	for it := d.Iter(); it.Next(); {
		if string(it.Name) == name {
			v, _ := it.Value.Int64()
			n += v
			continue
		}
		switch string(it.Name) {
		case "filter", "indexBounds", "transformBy", "parsedQuery":
			continue
		}
		if inner, ok := it.Value.Doc(); ok {
			n += SumOf(inner, name)
		} else if list, ok := it.Value.Array(); ok {
			n += SumOf(list, name)
		}
	}
	return n
}
