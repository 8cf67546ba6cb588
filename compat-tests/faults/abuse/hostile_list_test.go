package abuse

import "slices"

// hostiles are all hostile commands.
func hostiles() []hostile {
	return slices.Concat(hostileStages, hostileExpressions, hostileFilters, hostileWrites, hostileBuilds(), hostileAnswers, hostileAgain)
}

// pipe returns an aggregate command.
func pipe(coll, pipeline string) string {
	return `{aggregate: "` + coll + `", cursor: {}, pipeline: ` + pipeline + `}`
}

// value returns a hostile aggregate command that computes one expression for each document of a collection and
// returns no document.
func value(coll, expression string) string {
	return pipe(coll, `[{$project: {_id: 0, v: `+expression+`}}, {$match: {v: "no such value"}}]`)
}

var hostileStages = []hostile{
	{name: "$bucketAuto R5", often: true, cmd: pipe("odd", `[{$match: {p: true}}, {$bucketAuto: {groupBy: "$x", buckets: 3, granularity: "R5"}}]`)},
	{name: "$bucketAuto 1-2-5", cmd: pipe("odd", `[{$match: {p: true}}, {$bucketAuto: {groupBy: "$x", buckets: 30, granularity: "1-2-5"}}]`)},
	{name: "$bucketAuto E192", cmd: pipe("odd", `[{$match: {p: true}}, {$bucketAuto: {groupBy: "$x", buckets: 30, granularity: "E192"}}]`)},
	{name: "$bucketAuto POWERSOF2", cmd: pipe("odd", `[{$match: {p: true}}, {$bucketAuto: {groupBy: "$x", buckets: 30, granularity: "POWERSOF2"}}]`)},
	{name: "$bucket with 100,000 boundaries", cmd: pipe("small", `[{$bucket: {groupBy: "$_id", boundaries: @bounds, output: {n: {$push: "$$ROOT"}}}}]`)},
	{name: "$densify by the least double", cmd: pipe("small", `[{$densify: {field: "x", range: {step: 5e-324, bounds: [0, 1e308]}}}, {$match: {q: 1}}]`)},
	{name: "$densify a thousand years by the millisecond", often: true, cmd: pipe("small", `[{$densify: {field: "at", range: {step: 1, unit: "millisecond", bounds: [{$date: "1970-01-01T00:00:00Z"}, {$date: "2970-01-01T00:00:00Z"}]}}}, {$group: {_id: null, n: {$sum: 1}}}]`)},
	{name: "$densify in 20,000 partitions", cmd: pipe("small", `[{$densify: {field: "a", partitionByFields: ["s"], range: {step: 0.001, bounds: "full"}}}, {$match: {q: 1}}]`)},
	{name: "$fill", cmd: pipe("small", `[{$fill: {sortBy: {s: 1}, partitionBy: "$x", output: {q: {method: "linear"}, r: {method: "locf"}}}}, {$unionWith: "small"}, {$fill: {sortBy: {s: 1}, output: {q: {method: "linear"}}}}]`)},
	{name: "$setWindowFields growing sets", often: true, cmd: pipe("small", `[{$setWindowFields: {sortBy: {_id: 1}, output: {v: {$addToSet: "$s", window: {documents: ["unbounded", "current"]}}}}}, {$match: {q: 1}}]`)},
	{name: "$setWindowFields growing arrays", cmd: pipe("small", `[{$setWindowFields: {sortBy: {_id: 1}, output: {v: {$push: "$s", window: {documents: [-10000, 10000]}}}}}, {$match: {q: 1}}]`)},
	{name: "$setWindowFields medians", cmd: pipe("small", `[{$setWindowFields: {sortBy: {_id: 1}, output: {v: {$median: {input: "$d", method: "approximate"}, window: {documents: [-10000, 10000]}}}}}, {$match: {q: 1}}]`)},
	{name: "$setWindowFields first of many", cmd: pipe("small", `[{$setWindowFields: {sortBy: {_id: 1}, output: {v: {$topN: {n: 1000, sortBy: {d: 1}, output: "$s"}, window: {documents: [-10000, 10000]}}}}}, {$match: {q: 1}}]`)},
	{name: "$setWindowFields by range, all ties", cmd: pipe("small", `[{$setWindowFields: {sortBy: {a: 1}, output: {v: {$stdDevSamp: "$d", window: {range: [-1e300, 1e300]}}, w: {$minN: {n: 500, input: "$s"}, window: {range: [-50, 50]}}}}}, {$match: {q: 1}}]`)},
	{name: "$graphLookup from each document", often: true, cmd: pipe("small", `[{$graphLookup: {from: "small", startWith: "$to", connectFromField: "to", connectToField: "_id", as: "g"}}, {$project: {n: {$size: "$g"}}}, {$match: {q: 1}}]`)},
	{name: "$graphLookup without an index", cmd: pipe("small", `[{$limit: 1}, {$graphLookup: {from: "small", startWith: "$d", connectFromField: "c", connectToField: "x", as: "g"}}, {$graphLookup: {from: "small", startWith: "$to", connectFromField: "l", connectToField: "b", as: "h"}}, {$unwind: "$h"}, {$match: {q: 1}}]`)},
	{name: "$lookup of a product", cmd: pipe("small", `[{$lookup: {from: "small", as: "x", pipeline: [{$match: {q: 1}}], let: {a: "$a"}}}, {$lookup: {from: "small", as: "y", let: {d: "$s"}, pipeline: [{$match: {$expr: {$eq: ["$s", "$$d"]}}}, {$match: {q: 1}}]}}, {$match: {q: 1}}]`)},
	{name: "$lookup in $lookup", cmd: pipe("small", `@lookups`)},
	{name: "$unionWith 900 times", cmd: pipe("small", `@unions`)},
	{name: "$facet with 90 sorts", cmd: pipe("small", `[{$facet: @facets}]`)},
	{name: "$unwind again and again", often: true, cmd: pipe("small", `[{$addFields: {r: {$range: [0, 1000]}}}, {$addFields: {r2: "$r", r3: "$r"}}, {$unwind: "$r"}, {$unwind: "$r2"}, {$unwind: "$r3"}, {$match: {q: 1}}]`)},
	{name: "$unwind 400,000", cmd: pipe("nulls", `[{$unwind: "$a"}, {$lookup: {from: "small", localField: "_id", foreignField: "x", as: "y"}}, {$match: {q: 1}}]`)},
	{name: "$sort of a product", cmd: pipe("small", `[{$addFields: {r: {$range: [0, 300]}}}, {$unwind: "$r"}, {$sort: {s: -1, r: 1}}, {$limit: 1000000}, {$match: {q: 1}}]`)},
	{name: "$sort by long strings and a collation", cmd: `{aggregate: "small", cursor: {}, collation: {locale: "de", strength: 1, caseLevel: true, numericOrdering: true}, pipeline: [{$addFields: {k: {$concat: [@longtext, "$s"]}}}, {$project: {k: 1}}, {$sort: {k: 1}}, {$match: {q: 1}}]}`},
	{name: "$group that keeps all", cmd: pipe("small", `[{$addFields: {r: {$range: [0, 300]}}}, {$unwind: "$r"}, {$group: {_id: {$concat: ["$s", {$toString: "$r"}]}, all: {$push: "$$ROOT"}}}, {$match: {q: 1}}]`)},
	{name: "$group into one set", cmd: pipe("small", `[{$addFields: {r: {$range: [0, 300]}}}, {$unwind: "$r"}, {$group: {_id: null, all: {$addToSet: {$concat: ["$s", {$toString: "$r"}]}}}}]`)},
	{name: "$group of percentiles", cmd: pipe("small", `[{$addFields: {r: {$range: [0, 300]}}}, {$unwind: "$r"}, {$group: {_id: "$s", p: {$percentile: {input: "$r", p: [0.1, 0.5, 0.9], method: "approximate"}}}}, {$match: {q: 1}}]`)},
	{name: "$mergeObjects of wide documents", cmd: pipe("wide", `[{$addFields: {r: {$range: [0, 1000]}}}, {$unwind: "$r"}, {$group: {_id: null, w: {$mergeObjects: "$w"}}}]`)},
	{name: "$sortByCount of arrays", cmd: pipe("ints", `[{$addFields: {r: {$range: [0, 100]}}}, {$unwind: "$r"}, {$unwind: "$a"}, {$sortByCount: "$a"}]`)},
	{name: "$redact of a tree", cmd: pipe("deep", `[{$redact: {$cond: [{$eq: [{$size: {$ifNull: [{$objectToArray: "$$CURRENT"}, []]}}, 7]}, "$$PRUNE", "$$DESCEND"]}}, {$match: {q: 1}}]`)},
	{name: "$sample of a product", cmd: pipe("small", `[{$addFields: {r: {$range: [0, 1000]}}}, {$unwind: "$r"}, {$sample: {size: 100000}}, {$match: {q: 1}}]`)},
	{name: "$geoNear of all, again and again", cmd: pipe("small", `[{$geoNear: {near: {type: "Point", coordinates: [0, 0]}, distanceField: "far", key: "g"}}, {$lookup: {from: "small", as: "n", pipeline: [{$geoNear: {near: {type: "Point", coordinates: [1, 1]}, distanceField: "far", key: "g"}}, {$match: {q: 1}}]}}, {$match: {q: 1}}]`)},
	{name: "$documents by the million", cmd: `{aggregate: 1, cursor: {}, pipeline: [{$documents: {$map: {input: {$range: [0, 2000000]}, in: {i: "$$this"}}}}, {$group: {_id: "$i"}}, {$match: {q: 1}}]}`},
	{name: "$merge of a product", cmd: pipe("small", `[{$addFields: {r: {$range: [0, 300]}}}, {$unwind: "$r"}, {$project: {_id: {$concat: ["$s", {$toString: "$r"}]}}}, {$merge: "merged"}]`), undo: `{drop: "merged"}`},
	{name: "$out of a product", often: true, cmd: pipe("small", `[{$addFields: {r: {$range: [0, 300]}}}, {$unwind: "$r"}, {$unset: "_id"}, {$out: "outed"}]`), undo: `{drop: "outed"}`},
	{name: "$rankFusion", cmd: pipe("small", `[{$rankFusion: {input: {pipelines: {a: [{$sort: {s: 1}}], b: [{$sort: {x: 1}}], c: [{$sort: {d: 1}}], d: [{$sort: {l: 1}}]}}}}, {$lookup: {from: "small", as: "y", pipeline: [{$match: {q: 1}}, {$sort: {s: 1}}], let: {a: "$_id"}}}, {$match: {q: 1}}]`)},
	{name: "mapReduce without end", cmd: `{mapReduce: "small", map: "function() { for (;;) emit(this._id, 1); }", reduce: "function(k, v) { return v.length; }", out: {inline: 1}}`},
	{name: "$accumulator without end", cmd: pipe("small", `[{$group: {_id: null, x: {$accumulator: {init: "function() { return 0; }", accumulate: "function(s, x) { while (true) {} }", accumulateArgs: ["$x"], merge: "function(a, b) { return a; }", lang: "js"}}}}]`)},
}

var hostileExpressions = []hostile{
	{name: "$range of everything", often: true, cmd: value("small", `{$size: {$range: [0, 2147483647]}}`)},
	{name: "$map in $map in $map", cmd: value("small", `@maps`)},
	{name: "$filter in $filter", cmd: value("small", `{$size: {$filter: {input: {$range: [0, 100000]}, as: "x", cond: {$in: ["$$x", {$filter: {input: {$range: [0, 100000]}, as: "y", cond: {$lt: ["$$y", "$$x"]}}}]}}}}`)},
	{name: "$reduce that grows", often: true, cmd: value("small", `{$size: {$reduce: {input: {$range: [0, 1000000]}, initialValue: [], in: {$concatArrays: ["$$value", ["$$this"]]}}}}`)},
	{name: "$reduce of strings that grow", cmd: value("small", `{$strLenBytes: {$reduce: {input: {$range: [0, 1000000]}, initialValue: "", in: {$concat: ["$$value", "x"]}}}}`)},
	{name: "$reduce of sets", cmd: value("small", `{$size: {$reduce: {input: {$range: [0, 100000]}, initialValue: [], in: {$setUnion: ["$$value", ["$$this"]]}}}}`)},
	{name: "$reduce of objects", cmd: value("small", `{$reduce: {input: {$range: [0, 100000]}, initialValue: {}, in: {$mergeObjects: ["$$value", {$arrayToObject: [[[{$toString: "$$this"}, 1]]]}]}}}`)},
	{name: "$concat that doubles", cmd: value("small", `@doubling`)},
	{name: "$zip", cmd: value("small", `{$size: {$zip: {inputs: [{$range: [0, 1000000]}, {$range: [0, 1000000]}, {$range: [0, 2000000]}], useLongestLength: true}}}`)},
	{name: "$setUnion", cmd: value("ints", `{$size: {$setUnion: ["$a", {$range: [0, 1000000]}, {$reverseArray: "$a"}, {$range: [0, 2000000, 2]}]}}`)},
	{name: "$setIntersection", cmd: value("ints", `{$size: {$setIntersection: ["$a", {$range: [0, 1000000]}, {$reverseArray: "$a"}]}}`)},
	{name: "$setIsSubset many times", cmd: value("ints", `{$map: {input: {$range: [0, 1000]}, in: {$setIsSubset: ["$a", {$range: [0, 500000]}]}}}`)},
	{name: "$setDifference many times", cmd: value("ints", `{$map: {input: {$range: [0, 1000]}, in: {$size: {$setDifference: ["$a", ["$$this"]]}}}}`)},
	{name: "$sortArray many times", cmd: value("ints", `{$map: {input: {$range: [0, 1000]}, in: {$first: {$sortArray: {input: "$a", sortBy: -1}}}}}`)},
	{name: "$indexOfArray many times", cmd: value("ints", `{$map: {input: {$range: [0, 100000]}, in: {$indexOfArray: ["$a", -1]}}}`)},
	{name: "$in many times", often: true, cmd: value("ints", `{$map: {input: {$range: [0, 100000]}, in: {$in: [-1, "$a"]}}}`)},
	{name: "$indexOfCP of a long string", cmd: value("long", `{$map: {input: {$range: [0, 100000]}, in: {$indexOfCP: ["$s", "ab"]}}}`)},
	{name: "$indexOfBytes of a long needle", cmd: value("long", `{$map: {input: {$range: [0, 1000]}, in: {$indexOfBytes: ["$s", {$concat: [@longtext, "b"]}]}}}`)},
	{name: "$split of a long string", cmd: value("long", `{$map: {input: {$range: [0, 1000]}, in: {$size: {$split: ["$s", "a"]}}}}`)},
	{name: "$replaceAll that grows", cmd: value("long", `{$strLenBytes: {$replaceAll: {input: "$s", find: "a", replacement: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}}`)},
	{name: "$substrCP many times", cmd: value("long", `{$map: {input: {$range: [0, 100000]}, in: {$substrCP: ["$s", 10000000, 1]}}}`)},
	{name: "$toUpper many times", cmd: value("long", `{$map: {input: {$range: [0, 1000]}, in: {$strLenCP: {$toUpper: "$s"}}}}`)},
	{name: "$strcasecmp many times", cmd: value("long", `{$map: {input: {$range: [0, 1000]}, in: {$strcasecmp: ["$s", "$s"]}}}`)},
	{name: "$trim with many characters", cmd: value("long", `{$map: {input: {$range: [0, 1000]}, in: {$trim: {input: "$s", chars: "a !"}}}}`)},
	{name: "$regexMatch that goes back", often: true, cmd: value("regex", `{$regexMatch: {input: "$s", regex: "^(?=a)(a+)+$"}}`)},
	{name: "$regexFindAll", cmd: value("long", `{$map: {input: {$range: [0, 100]}, in: {$size: {$regexFindAll: {input: "$s", regex: "a|(a)"}}}}}`)},
	{name: "$regexFind with 2,000 patterns", cmd: value("small", `{$map: {input: @regexes, in: {$regexFind: {input: "$s", regex: "$$this"}}}}`)},
	{name: "$switch with 20,000 branches", cmd: value("small", `{$switch: {branches: @branches, default: 0}}`)},
	{name: "$objectToArray of wide documents", cmd: value("wide", `{$map: {input: {$range: [0, 1000]}, in: {$size: {$objectToArray: "$w"}}}}`)},
	{name: "$setField many times", cmd: value("wide", `{$reduce: {input: {$range: [0, 10000]}, initialValue: "$w", in: {$setField: {field: "x", input: "$$value", value: "$$this"}}}}`)},
	{name: "$arrayToObject with equal names", cmd: value("ints", `{$arrayToObject: {$map: {input: "$a", in: {k: {$toString: {$mod: ["$$this", 1000]}}, v: 1}}}}`)},
	{name: "dates by the million", cmd: value("small", `{$map: {input: {$range: [0, 100000]}, in: {$dateToString: {date: {$dateAdd: {startDate: "$at", unit: "month", amount: "$$this", timezone: "America/New_York"}}, timezone: "Europe/Berlin"}}}}`)},
	{name: "$function without end", cmd: value("small", `{$function: {body: "function() { while (true) {} }", args: [], lang: "js"}}`)},
	{name: "$function that eats memory", cmd: value("small", `{$function: {body: "function() { var a = []; for (;;) a.push(new Array(1000).join('x')); }", args: [], lang: "js"}}`)},
	{name: "$toHashedIndexKey of long strings", cmd: value("long", `{$map: {input: {$range: [0, 10000]}, in: {$toHashedIndexKey: "$s"}}}`)},
	{name: "$toString of large arrays", cmd: value("ints", `{$map: {input: {$range: [0, 1000]}, in: {$convert: {input: "$a", to: "string", onError: 1}}}}`)},
	{name: "equal arrays compared", cmd: value("ints", `{$map: {input: {$range: [0, 10000]}, in: {$eq: ["$a", "$a"]}}}`)},
	{name: "a path through a tree", cmd: value("deep", `{$map: {input: {$range: [0, 1000]}, in: {$size: {$ifNull: ["$a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a", []]}}}}`)},
}
