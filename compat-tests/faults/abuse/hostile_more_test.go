package abuse

// find returns a find command.
func find(coll, filter, more string) string {
	return `{find: "` + coll + `", batchSize: 1, filter: ` + filter + more + `}`
}

var hostileFilters = []hostile{
	{name: "$in of 100,000, no index", cmd: find("small", `{d: {$in: @in100000}, q: 1}`, "")},
	{name: "$in of strings in arrays", cmd: find("texts", `{a: {$in: @strings}}`, "")},
	{name: "$nin of 100,000 in arrays", cmd: find("ints", `{a: {$nin: @in100000}, q: 1}`, "")},
	{name: "$in of 2,000 patterns", cmd: find("small", `{s: {$in: @regexes}}`, "")},
	{name: "$all of 100,000", often: true, cmd: find("ints", `{a: {$all: @in100000}}`, "")},
	{name: "$all of $elemMatch", cmd: find("docs", `{a: {$all: [{$elemMatch: {b: 1, c: {$exists: false}}}, {$elemMatch: {b: {$gt: 2000}}}]}}`, "")},
	{name: "$or of 20,000", cmd: find("small", `{$or: @ors, q: 1}`, "")},
	{name: "$and of 3,000 $or", often: true, cmd: find("small", `{$and: @ands}`, "")},
	{name: "a product of bounds", often: true, cmd: find("small", `{a: {$in: @in2000}, b: {$in: @in2000}, c: {$in: @in2000}, q: 1}`, `, hint: "abc"`)},
	{name: "a product of bounds with a sort", cmd: find("small", `{a: {$in: @in2000}, b: {$in: @in2000}, q: 1}`, `, sort: {c: 1}, hint: "abc"`)},
	{name: "a pattern that goes back", cmd: find("regex", `{s: {$regex: "^(?=(a|aa)+$)(a|a?)+$"}}`, "")},
	{name: "a pattern over a long string", cmd: find("long", `{s: {$regex: "(a+)+(a+)+(a+)+[b-z]$"}}`, "")},
	{name: "$where without end", often: true, cmd: find("small", `{$where: "function() { while (true) {} }"}`, "")},
	{name: "$where that recurses", cmd: find("small", `{$where: "function() { return (function f() { return f() + f(); })(); }"}`, "")},
	{name: "$jsonSchema with large sets", cmd: find("ints", `{$jsonSchema: {properties: {a: {uniqueItems: true, items: {enum: @in100000}}}}}`, "")},
	{name: "$jsonSchema deep", cmd: find("deep", `{$jsonSchema: @schema}`, "")},
	{name: "$jsonSchema with patterns of fields", cmd: find("wide", `{$jsonSchema: {properties: {w: {patternProperties: {"(?=f)(f+)+1": {type: "string"}, "9": {enum: @in100000}}}}}}`, "")},
	{name: "$expr over all pairs", cmd: find("ints", `{$expr: {$anyElementTrue: {$map: {input: "$a", as: "x", in: {$in: [{$add: ["$$x", 1000000]}, "$a"]}}}}}`, "")},
	{name: "a path of positions through a tree", often: true, cmd: find("deep", `{"a.0.a.0.a.0.a.0.a.0.a.0.a.0.a.0.a.0.a.0.a.0": {$gt: 5}, "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a": {$all: [7, 8, 9]}}`, "")},
	{name: "$elemMatch in $elemMatch", cmd: find("deep", `{a: {$elemMatch: {a: {$elemMatch: {a: {$elemMatch: {a: {$elemMatch: {a: {$elemMatch: {a: {$elemMatch: {"a.a.a.a.a.a.a.a.a.a.a": 7}}}}}}}}}}}}}`, "")},
	{name: "a sort by arrays", cmd: find("small", `{}`, `, sort: {"l": 1, "s": -1, x: 1}, collation: {locale: "sv", strength: 5}`)},
	{name: "a sort by a path through a tree", cmd: find("deep", `{}`, `, sort: {"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a": 1}`)},
	{name: "strings compared by a collation", cmd: find("long", `{s: {$gt: @longtext}, q: 1}`, `, collation: {locale: "fr", strength: 2, backwards: true, normalization: true}`)},
	{name: "$text of 20,000 words", cmd: find("small", `{$text: {$search: @words}, q: 1}`, "")},
	{name: "$text sorted by its score", cmd: find("small", `{$text: {$search: @words}}`, `, sort: {score: {$meta: "textScore"}}, projection: {score: {$meta: "textScore"}}`)},
	{name: "$geoWithin 50,000 corners", often: true, cmd: find("small", `{g: {$geoWithin: {$geometry: {type: "Polygon", coordinates: [@polygon]}}}, q: 1}`, "")},
	{name: "$geoIntersects without an index", cmd: find("places", `{a: {$geoIntersects: {$geometry: {type: "Polygon", coordinates: [@polygon]}}}}`, "")},
	{name: "$geoWithin of old polygons", cmd: find("places", `{a: {$geoWithin: {$polygon: @polygon}}, q: 1}`, "")},
	{name: "$near of all", cmd: find("small", `{g: {$near: {$geometry: {type: "Point", coordinates: [0, 0]}}}, q: 1}`, "")},
	{name: "a projection of 50,000 fields", cmd: find("wide", `{}`, `, projection: @fields`)},
	{name: "a projection of 20,000 paths", cmd: find("wide", `{}`, `, projection: @paths`)},
	{name: "$bitsAllSet in arrays", cmd: find("ints", `{$or: @ors, a: {$bitsAllSet: [60, 61]}}`, "")},
	{name: "distinct of 400,000", cmd: `{distinct: "ints", key: "a", query: {}}`},
	{name: "a count with patterns", cmd: `{count: "small", query: {$nor: [{s: {$in: @regexes}}, {q: 2}]}}`},
	{name: "dbHash", cmd: `{dbHash: 1}`},
	{name: "validate", cmd: `{validate: "small", full: true}`},
}

var hostileWrites = []hostile{
	{name: "an update with $where", often: true, cmd: `{update: "small", updates: [{q: {$where: "function() { for (;;); }"}, u: {$set: {z: 1}}, multi: true}]}`},
	{name: "an update by a pipeline that grows", cmd: `{update: "small", updates: [{q: {}, u: [{$set: {z: {$reduce: {input: {$range: [0, 1000000]}, initialValue: [], in: {$concatArrays: ["$$value", ["$$this"]]}}}}}], multi: true}]}`},
	{name: "an update of all", cmd: `{update: "small", updates: [{q: {}, u: {$inc: {z: 1}, $push: {zz: {$each: @in2000, $slice: -10, $sort: -1}}}, multi: true}]}`},
	{name: "$push of 100,000 in order", cmd: `{update: "pushed", updates: [{q: {_id: 1}, u: {$push: {a: {$each: @in100000, $sort: {x: 1}, $slice: -200000, $position: 0}}}, upsert: true}]}`, undo: `{drop: "pushed"}`},
	{name: "$addToSet of 100,000", cmd: `{update: "ints", updates: [{q: {_id: 0, q: {$exists: false}}, u: {$addToSet: {a: {$each: @in100000}, more: {$each: @strings}}}}]}`},
	{name: "$pull of many", often: true, cmd: `{update: "ints", updates: [{q: {_id: 0}, u: {$pull: {a: {$in: @in100000, $gt: 1000000000}}}}]}`},
	{name: "$pull with patterns", cmd: `{update: "texts", updates: [{q: {_id: 0}, u: {$pull: {a: {$in: @regexes}}}}]}`},
	{name: "$pullAll of 100,000", cmd: `{update: "texts", updates: [{q: {_id: 0}, u: {$pullAll: {a: @strings}}}]}`},
	{name: "array filters over 150,000", cmd: `{update: "docs", updates: [{q: {_id: 0}, u: {$set: {"a.$[x].z": 1}}, arrayFilters: [{"x.b": {$in: @in100000}, "x.c": {$exists: false}}]}]}`},
	{name: "all elements of a tree", cmd: `{update: "deep", updates: [{q: {_id: 0}, u: {$inc: {"a.$[].a.$[].a.$[].a.$[].a.$[].a.$[].a.$[].a.$[].a.$[].a.$[].a.$[].a.$[].z": 1}}}]}`},
	{name: "$unset of 50,000 fields", cmd: `{update: "wide", updates: [{q: {_id: 0}, u: {$unset: @fields}}]}`},
	{name: "$set of 20,000 paths", cmd: `{update: "wide2", updates: [{q: {_id: 0}, u: {$set: @paths}, upsert: true}]}`, undo: `{drop: "wide2"}`},
	{name: "findAndModify with a sort of all", cmd: `{findAndModify: "small", query: {s: {$in: @regexes}}, sort: {s: 1, x: 1}, update: {$set: {z: 1}}}`},
	{name: "2,000 updates that find nothing", often: true, cmd: `{update: "small", ordered: false, updates: @updates}`},
	{name: "5,000 updates with patterns", cmd: `{update: "small", ordered: false, updates: @upserts}`},
	{name: "2,000 deletes that find nothing", cmd: `{delete: "small", ordered: false, deletes: @deletes}`},
	{name: "a delete with an expression", cmd: `{delete: "small", deletes: [{q: {$expr: {$gt: [{$size: {$filter: {input: {$range: [0, 1000000]}, cond: {$lt: ["$$this", 5]}}}}, 9]}}, limit: 0}]}`},
	{name: "inserts that are checked", cmd: `{insert: "checked", documents: [{x: 1, a: @arrays}, {x: 2, a: @arrays}, {x: "x", a: @in100000}]}`, undo: `{delete: "checked", deletes: [{q: {}, limit: 0}]}`},
	{name: "20,000 inserts", cmd: `{insert: "inserted", documents: @inserts}`, undo: `{drop: "inserted"}`},
}

// hostileBuilds returns commands that build an index of each kind over documents for which that takes very long.
func hostileBuilds() []hostile {
	build := func(name, coll, key, more string) hostile {
		return hostile{name: "an index " + name, cmd: `{createIndexes: "` + coll + `", indexes: [{name: "hostile", key: ` + key + more + `}]}`,
			undo: `{dropIndexes: "` + coll + `", index: "hostile"}`}
	}
	out := []hostile{
		build("of a position", "nulls", `{"a.0": 1}`, ""),
		build("of a position in a position", "docs", `{"a.0.b.0": 1, "a.1": 1}`, ""),
		build("of nulls", "nulls", `{a: 1}`, ""),
		build("of numbers", "ints", `{a: 1, _id: -1}`, ""),
		build("of documents", "docs", `{"a.b": 1, "a.c": 1, "a.d": -1}`, ""),
		build("of everything", "docs", `{"$**": 1}`, ""),
		build("of everything wide", "wide", `{"$**": 1}`, ""),
		build("of everything deep", "deep", `{"$**": 1}`, ""),
		build("of all words", "texts", `{"$**": "text"}`, ""),
		build("of the words of a long text", "long", `{s: "text"}`, ""),
		build("of flat places", "places", `{a: "2d"}`, ""),
		build("of round places", "small", `{"g.coordinates": "2dsphere"}`, ""),
		build("by hash", "long", `{s: "hashed"}`, ""),
		build("through a tree", "deep", `{"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a": 1, "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.b": 1}`, ""),
		build("with a filter", "small", `{s: 1}`, `, partialFilterExpression: {$or: @ors}`),
		build("with a collation", "texts", `{a: 1}`, `, collation: {locale: "de", strength: 1, normalization: true}`),
		build("that is unique", "texts", `{a: 1}`, `, unique: true`),
	}
	out[0].often, out[7].often = true, true
	return out
}

var hostileAnswers = []hostile{
	{name: "explain of a product of bounds", often: true, cmd: `{explain: ` + find("small", `{a: {$in: @in2000}, b: {$in: @in2000}, c: {$in: @in2000}}`, "") + `}`},
	{name: "explain of 100,000 bounds", cmd: `{explain: ` + find("small", `{a: {$in: @in100000}, b: {$in: @in100000}, c: {$in: @in100000}}`, "") + `, verbosity: "allPlansExecution"}`},
	{name: "explain of $or of 20,000", cmd: `{explain: ` + find("small", `{$or: @ors}`, "") + `}`},
	{name: "explain of what does not end", cmd: `{explain: ` + pipe("small", `@lookups`) + `, verbosity: "executionStats"}`},
	{name: "explain of 900 unions", cmd: `{explain: ` + pipe("small", `@unions`) + `, verbosity: "queryPlanner"}`},
	{name: "a view with 900 unions", cmd: `{create: "v900", viewOn: "small", pipeline: @unions}`, undo: `{drop: "v900"}`},
	{name: "a cursor's largest batch", cmd: `{find: "small", filter: {}, batchSize: 2147483647, projection: {s: {$concat: [@longtext, "$s"]}}}`},
	{name: "an answer of many megabytes", cmd: pipe("ints", `[{$unionWith: "ints"}, {$unionWith: "ints"}, {$group: {_id: null, all: {$push: "$a"}}}]`)},
	{name: "an unknown stage with a long name", cmd: `{aggregate: "small", cursor: {}, pipeline: [{$match: {s: @longtext}}, {$nothing: @longtext}]}`},
}
