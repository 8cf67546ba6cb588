package data

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
)

// This file holds the functions of the fields Query and Outputs of command rows. They find the filter and the sort in
// the body of a command, and report whether a read writes its results into a collection.

// docAt returns a document inside another document, nil if there is none.
func docAt(d bson.Raw, name string) bson.Raw {
	r, _ := d.Get(name).Doc()
	return r
}

// findQuery reads {find, filter, sort}.
func findQuery(d bson.Raw) (filter, sort bson.Raw) { return docAt(d, "filter"), docAt(d, "sort") }

// sortedQuery reads {findAndModify, query, sort}.
func sortedQuery(d bson.Raw) (filter, sort bson.Raw) { return docAt(d, "query"), docAt(d, "sort") }

// unsortedQuery reads {count, query}.
func unsortedQuery(d bson.Raw) (filter, sort bson.Raw) { return docAt(d, "query"), nil }

// statementQuery reads a statement of {update, updates: [{q, sort}]}.
func statementQuery(d bson.Raw) (filter, sort bson.Raw) { return docAt(d, "q"), docAt(d, "sort") }

// pipelineQuery returns the query in the body of an aggregate: the filter or the sort of its first pipeline stage.
func pipelineQuery(d bson.Raw) (filter, sort bson.Raw) {
	stages, _ := d.Get("pipeline").Array()
	first, _ := stages.Index(0)
	stage, _ := first.Doc()
	return docAt(stage, "$match"), docAt(stage, "$sort")
}

// pipelineOutputs reads {aggregate, pipeline: [..., {$out}]}.
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

// mapReduceOutputs reads {mapReduce, out: {merge: "coll"}}.
func mapReduceOutputs(d bson.Raw) bool {
	out, ok := d.Get("out").Doc()
	return !ok || out.Get("inline").IsMissing()
}
