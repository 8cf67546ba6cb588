package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
)

var stageSortByCount = StageDef{Name: "$sortByCount", OwnFields: true, Parse: parseSortByCount, ShapesPlan: true, Doc: "reference/operator/aggregation/sortByCount"}

// parseSortByCount replaces $sortByCount by a $group and a $sort.
func parseSortByCount(p *parser, _ string, arg bson.Value) ([]Stage, error) {
	switch arg.Type {
	case bson.TypeString:
		if t, _ := arg.Str(); t == "" || t[0] != '$' {
			return nil, mongoerr.New(40148, "the sortByCount field must be defined as a $-prefixed path or an expression inside an object")
		}
	case bson.TypeDocument:
		if f, ok := bson.Raw(arg.Data).First(); !ok || len(f.Name) == 0 || f.Name[0] != '$' {
			return nil, mongoerr.New(40147, "the sortByCount field must be defined as a $-prefixed path or an expression inside an object")
		}
	default:
		return nil, mongoerr.New(40149, "the sortByCount field must be specified as a string or as an object")
	}
	id, err := expr.Parse(p.env, arg)
	if err != nil {
		return nil, err
	}
	count, err := parseCountAccumulator(p, "$count", bson.EmptyDoc)
	if err != nil {
		return nil, err
	}
	b := bson.NewBuilder(nil)
	b.Int32("count", -1)
	sorts, err := parseSort(p, "$sort", b.Doc().Value())
	if err != nil {
		return nil, err
	}
	return append([]Stage{&groupStage{id: id, out: []output{{name: "count", fn: count}}}}, sorts...), nil
}
