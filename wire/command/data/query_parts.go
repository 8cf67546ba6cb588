package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
)

// Where commands have their filters and sorts, and where they say that they write: the
// columns Query and Outputs of the table.

// docAt is a document inside another, nil if there is none.
func docAt(d bson.Raw, name string) bson.Raw {
	r, _ := d.Get(name).Doc()
	return r
}

// findQuery is for {find, filter, sort}.
func findQuery(d bson.Raw) (filter, sort bson.Raw) { return docAt(d, "filter"), docAt(d, "sort") }

// sortedQuery is for {findAndModify, query, sort}.
func sortedQuery(d bson.Raw) (filter, sort bson.Raw) { return docAt(d, "query"), docAt(d, "sort") }

// unsortedQuery is for {count, query}.
func unsortedQuery(d bson.Raw) (filter, sort bson.Raw) { return docAt(d, "query"), nil }

// statementQuery is for a statement of {update, updates: [{q, sort}]}.
func statementQuery(d bson.Raw) (filter, sort bson.Raw) { return docAt(d, "q"), docAt(d, "sort") }

// pipelineQuery is for {aggregate, pipeline: [{$match}]}: what the first stage looks for
// or how it sorts.
func pipelineQuery(d bson.Raw) (filter, sort bson.Raw) {
	stages, _ := d.Get("pipeline").Array()
	first, _ := stages.Index(0)
	stage, _ := first.Doc()
	return docAt(stage, "$match"), docAt(stage, "$sort")
}

// pipelineOutputs is for {aggregate, pipeline: [..., {$out}]}.
func pipelineOutputs(d bson.Raw) bool {
	var last bson.Raw
	stages, _ := d.Get("pipeline").Array()
	for v := range stages.Values() {
		last, _ = v.Doc()
	}
	f, _ := last.First()
	def := agg.FindStage(string(f.Name))
	return def != nil && def.Writes && !d.Get("explain").Truthy()
}

// mapReduceOutputs is for {mapReduce, out: {merge: "coll"}}.
func mapReduceOutputs(d bson.Raw) bool {
	out, ok := d.Get("out").Doc()
	return !ok || out.Get("inline").IsMissing()
}
