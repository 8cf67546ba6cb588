package plan

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
)

// Summary returns the text of a plan's lowest stages with the keys of their indexes, such as IXSCAN {a: 1}, and
// reports whether a stage of the plan sorts.
func Summary(stage bson.Raw) (text string, sorts bool) {
	name, _ := stage.Get("stage").Str()
	sorts = name == "SORT"
	if next, ok := stage.Get("inputStage").Doc(); ok {
		text, below := Summary(next)
		return text, sorts || below
	}
	list, _ := stage.Get("inputStages").Array()
	var texts []string
	for v := range list.Values() {
		if next, ok := v.Doc(); ok {
			one, below := Summary(next)
			texts, sorts = append(texts, one), sorts || below
		}
	}
	if texts != nil {
		return strings.Join(texts, ", "), sorts
	}
	if key, ok := stage.Get("keyPattern").Doc(); ok {
		return name + " " + key.String(), sorts
	}
	return name, sorts
}

// SummaryOf is Summary of the plan n.
func SummaryOf(n Node) (text string, sorts bool) {
	b := bson.NewBuilder(nil)
	Append(b, n)
	return Summary(b.Doc())
}

// ScansCollection reports whether the plan has a stage that reads the whole collection (COLLSCAN).
func (s *Solution) ScansCollection() bool {
	return !s.Point && s.Index == "" && s.Shards != nil && scansCollection(s.Shards)
}

func scansCollection(n Node) bool {
	if n.Stage() == "COLLSCAN" {
		return true
	}
	return slices.ContainsFunc(n.Inputs(), scansCollection)
}
