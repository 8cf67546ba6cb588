package abuse

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// costly is an aggregation expression that reads no fields and whose computation would take hours.
const costly = `{$size: {$filter: {input: {$range: [0, 1000000]}, cond: {$in: ["$$this", {$range: [2000000, 3000000]}]}}}}`

// hostileAgain are hostile commands whose cost does not come from the documents that they read, but from
// constants, lists of names and numbers, windows, nesting, and state that the server keeps.
var hostileAgain = []hostile{
	{name: "$setWindowFields with 1,000 outputs", cmd: pipe("small", `[{$setWindowFields: {sortBy: {_id: 1}, output: @windows}}, {$match: {q: 1}}]`)},
	{name: "$rank of ties in many windows", cmd: pipe("small", `[{$setWindowFields: {partitionBy: "$c", sortBy: {a: 1}, output: {r: {$rank: {}}, d: {$denseRank: {}}}}}, {$setWindowFields: {sortBy: {s: 1}, output: {n: {$documentNumber: {}}, e: {$expMovingAvg: {input: "$d", N: 100000}}, s: {$shift: {output: "$s", by: -19999}}}}}, {$match: {q: 1}}]`)},
	{name: "$setWindowFields over a thousand years", cmd: pipe("small", `[{$setWindowFields: {sortBy: {at: 1}, output: {v: {$integral: {input: "$d", unit: "hour"}, window: {range: [-365000, 365000], unit: "day"}}, w: {$push: "$s", window: {range: [-10000, 10000], unit: "day"}}}}}, {$match: {q: 1}}]`)},
	{name: "$unionWith in $unionWith", cmd: pipe("small", `@unionTree`)},
	{name: "$graphLookup with patterns", cmd: pipe("small", `[{$graphLookup: {from: "small", startWith: "$to", connectFromField: "to", connectToField: "_id", as: "g", depthField: "z", restrictSearchWithMatch: {s: {$nin: @regexes}}}}, {$match: {q: 1}}]`)},
	{name: "$merge by a pipeline", often: true, cmd: pipe("small", `[{$merge: {into: "small", whenMatched: [{$set: {z: `+costly+`}}]}}]`)},
	{name: "$topN of a million", cmd: pipe("small", `[{$addFields: {r: {$range: [0, 300]}}}, {$unwind: "$r"}, {$group: {_id: null, t: {$topN: {n: 1000000, sortBy: {r: 1, s: -1}, output: "$r"}}, l: {$lastN: {n: 1000000, input: "$r"}}}}, {$match: {q: 1}}]`)},
	{name: "$median of a product", cmd: pipe("small", `[{$addFields: {r: {$range: [0, 1000]}}}, {$unwind: "$r"}, {$group: {_id: null, p: {$percentile: {input: "$r", p: @shares, method: "approximate"}}}}, {$match: {q: 1}}]`)},
	{name: "a tree of $cond", cmd: value("small", `@conds`)},
	{name: "a constant", often: true, cmd: pipe("small", `[{$match: {$expr: {$eq: ["$q", `+costly+`]}}}]`)},
	{name: "a variable that is a constant", cmd: `{aggregate: "small", cursor: {}, let: {x: ` + costly + `}, pipeline: [{$match: {$expr: {$eq: ["$q", "$$x"]}}}]}`},
	{name: "a variable of an update", cmd: `{update: "small", let: {x: ` + costly + `}, updates: [{q: {$expr: {$eq: ["$q", "$$x"]}}, u: {$set: {z: 1}}}]}`},
	{name: "a validator that is a constant", cmd: `{create: "constant", validator: {$expr: {$eq: ["$q", ` + costly + `]}}}`, undo: `{drop: "constant"}`},
	{name: "a new validator", cmd: `{collMod: "checked", validator: {$or: [{$expr: {$eq: ["$q", ` + costly + `]}}, {$jsonSchema: {properties: {x: {enum: [1, 2, "x"]}, a: {uniqueItems: true}}}}]}}`, undo: `{collMod: "checked", validator: {$jsonSchema: {properties: {x: {enum: [1, 2, "x"]}, a: {uniqueItems: true}}}}}`},
	{name: "a list of collections with a filter", often: true, cmd: `{listCollections: 1, filter: {$expr: {$eq: ["$q", ` + costly + `]}}}`},
	{name: "a list of databases with a filter", cmd: `{listDatabases: 1, "$db": "admin", filter: {$expr: {$eq: ["$name", ` + costly + `]}}}`},
	{name: "who else works, in a product", cmd: `{aggregate: 1, "$db": "admin", cursor: {}, pipeline: [{$currentOp: {idleConnections: true}}, {$addFields: {r: {$range: [0, 100000]}}}, {$unwind: "$r"}, {$addFields: {q: {$range: [0, 100000]}}}, {$unwind: "$q"}, {$match: {z: 1}}]}`},
	{name: "plans in a product", cmd: pipe("small", `[{$planCacheStats: {}}, {$unionWith: {pipeline: [{$documents: [{a: 1}]}]}}, {$addFields: {q: `+costly+`}}]`)},
	{name: "bulkWrite of 100,000 that fail", often: true, cmd: `{bulkWrite: 1, "$db": "admin", ordered: false, ops: @bulk, nsInfo: [{ns: "hostile.small"}]}`},
	{name: "bulkWrite of 5,000 with patterns", cmd: `{bulkWrite: 1, "$db": "admin", ordered: false, ops: @bulkPatterns, nsInfo: [{ns: "hostile.small"}]}`},
	{name: "100,000 inserts that fail", cmd: `{insert: "small", ordered: false, documents: @duplicates}`},
	{name: "killCursors of 100,000", often: true, cmd: `{killCursors: "small", cursors: @longs}`},
	{name: "endSessions of 50,000", cmd: `{endSessions: @sessions}`},
	{name: "killAllSessionsByPattern", cmd: `{killAllSessionsByPattern: @patterns, "$db": "admin"}`},
	{name: "analyzeShardKey", cmd: `{analyzeShardKey: "hostile.small", key: {s: 1, x: 1}, "$db": "admin"}`},
	{name: "query settings with a long filter", cmd: `{setQuerySettings: {find: "small", filter: {$or: @ors}, "$db": "hostile"}, settings: {queryFramework: "classic"}, "$db": "admin"}`, undo: `{removeQuerySettings: {find: "small", filter: {$or: @ors}, "$db": "hostile"}, "$db": "admin"}`},
	{name: "a role with 20,000 privileges", cmd: `{createRole: "wide", privileges: @privileges, roles: []}`, undo: `{dropRole: "wide"}`},
	{name: "a user with 20,000 roles", cmd: `{createUser: "wide", pwd: "secret", roles: @roles}`, undo: `{dropUser: "wide"}`},
	{name: "$or of 20,000 equalities", often: true, cmd: find("small", `{$or: @equalities, q: 1}`, "")},
	{name: "explain of $or of 20,000 equalities", cmd: `{explain: ` + find("small", `{$or: @equalities}`, "") + `}`},
	{name: "explain of $and of 20,000 $ne", often: true, cmd: `{explain: ` + find("small", `{$and: @unequal}`, "") + `}`},
	{name: "$jsonSchema that doubles", often: true, cmd: find("small", `{$jsonSchema: @anyOf}`, "")},
	{name: "$jsonSchema with 20,000 rules", cmd: find("small", `{$jsonSchema: {not: {anyOf: @rules}}}`, "")},
	{name: "a sort by 32 paths", cmd: find("deep", `{}`, `, sort: @sorts`)},
	{name: "a sort of long strings by a collation", cmd: find("long", `{}`, `, sort: {s: 1}, collation: {locale: "de", strength: 3, normalization: true}`)},
	{name: "distinct of long strings by a collation", cmd: `{distinct: "long", key: "s", query: {}, collation: {locale: "fr", strength: 2, backwards: true}}`},
	{name: "a polygon of 50,000 corners with holes", cmd: find("small", `{g: {$geoIntersects: {$geometry: {type: "Polygon", coordinates: [@polygon, @hole]}}}, q: 1}`, "")},
	{name: "20,000 polygons", cmd: find("small", `{g: {$geoWithin: {$geometry: {type: "MultiPolygon", coordinates: @polygons}}}, q: 1}`, "")},
	{name: "a projection with 20,000 slices", cmd: find("wide", `{}`, `, projection: @slices`)},
	{name: "an index of 20,000 paths of everything", cmd: `{createIndexes: "wide", indexes: [{name: "hostile", key: {"$**": 1}, wildcardProjection: @paths}]}`, undo: `{dropIndexes: "wide", index: "hostile"}`},
	{name: "60 indexes at once", often: true, cmd: `{createIndexes: "docs", indexes: @indexes}`, undo: `{dropIndexes: "docs", index: "*"}`},
	{name: "an index of a long string by a collation", cmd: `{createIndexes: "long", indexes: [{name: "hostile", key: {s: 1}, collation: {locale: "de", strength: 3}}]}`, undo: `{dropIndexes: "long", index: "hostile"}`},
	{name: "900 array filters", cmd: `{update: "docs", updates: [{q: {_id: 0}, u: {$set: @filtered}, arrayFilters: @filters}]}`},
	{name: "$toDecimal of a million digits", often: true, cmd: value("small", `{$map: {input: {$range: [0, 1000]}, in: {$convert: {input: {$concat: [@digits, {$toString: "$$this"}]}, to: "decimal", onError: 1}}}}`)},
	{name: "$toDouble of a million digits", cmd: value("small", `{$map: {input: {$range: [0, 1000]}, in: {$convert: {input: {$concat: [@digits, {$toString: "$$this"}]}, to: "double", onError: 1}}}}`)},
	{name: "decimals by the million", cmd: value("small", `{$sum: {$map: {input: {$range: [1, 1000000]}, in: {$ln: {$exp: {$divide: [{$toDecimal: "$$this"}, {$numberDecimal: "3333333333.3333333333333333333333"}]}}}}}}`)},
	{name: "$regexFindAll of nothing", cmd: value("long", `{$size: {$regexFindAll: {input: "$s", regex: ""}}}`)},
	{name: "$regexMatch with a long pattern", cmd: value("small", `{$regexMatch: {input: {$concat: ["$s", "!"]}, regex: "((a{0,500}){0,2}b?){1,200}$"}}`)},
	{name: "$dateToString with a long format", cmd: value("small", `{$dateToString: {date: "$at", format: @format}}`)},
	{name: "$dateFromString of a long string", cmd: value("long", `{$map: {input: {$range: [0, 1000]}, in: {$dateFromString: {dateString: "$s", onError: 1}}}}`)},
	{name: "$toHashedIndexKey of a tree", cmd: value("deep", `{$map: {input: {$range: [0, 1000]}, in: {$toHashedIndexKey: "$a"}}}`)},
	{name: "a tree compared with itself", cmd: value("deep", `{$map: {input: {$range: [0, 1000]}, in: {$cmp: ["$a", {$concatArrays: ["$a", []]}]}}}`)},
	{name: "sets of trees", cmd: value("deep", `{$map: {input: {$range: [0, 1000]}, in: {$setEquals: [{$concatArrays: ["$a", ["$a"]]}, {$concatArrays: [["$a"], "$a"]}]}}}`)},
	{name: "a mapReduce whose reduce does not end", cmd: `{mapReduce: "small", map: "function() { emit(1, this.x); }", reduce: "function(k, v) { while (true) {} }", out: {inline: 1}}`},
	{name: "a change stream over all that was", cmd: `{aggregate: 1, cursor: {}, pipeline: [{$changeStream: {startAtOperationTime: @recently}}, {$match: {$expr: {$eq: ["$q", ` + costly + `]}}}]}`},
	{name: "a capped collection made of one", cmd: `{convertToCapped: "texts", size: 100000000}`},
}

// hostileTextsAgain are the long texts of hostileAgain.
func hostileTextsAgain(list, fields func(n int, f func(i int) string) string, repeated func(n int, open, core, shut string) string) map[string]string {
	tree := `{$unionWith: "small"}`
	for range 12 {
		tree = `{$unionWith: {coll: "small", pipeline: [` + tree + `, {$limit: 1000}, {$unionWith: "small"}]}}`
	}
	anyOf := `{properties: {s: {type: "number"}}}`
	for range 12 {
		anyOf = `{anyOf: [` + anyOf + `, ` + anyOf + `]}`
	}
	return map[string]string{
		"windows":   fields(1000, func(i int) string { return fmt.Sprintf(`w%d: {$sum: "$d", window: {documents: [-%d, %d]}}`, i, i, i) }),
		"unionTree": `[` + tree + `, {$match: {q: 1}}]`,
		"shares":    list(20_000, func(i int) string { return fmt.Sprintf("0.%05d", i*5) }),
		"conds":     repeated(60, `{$cond: [{$gt: ["$a", {$size: {$range: [0, 100000]}}]}, 1, `, `0`, `]}`),
		"bulk":      list(100_000, func(int) string { return `{insert: 0, document: {_id: 0}}` }),
		"bulkPatterns": list(5000, func(i int) string {
			return fmt.Sprintf(`{update: 0, filter: {s: {$regex: "(?=none)%d"}}, updateMods: {$set: {z: 1}}}`, i)
		}),
		"duplicates": list(100_000, func(int) string { return `{_id: 0}` }),
		"longs":      list(100_000, func(i int) string { return fmt.Sprintf(`{$numberLong: "%d"}`, 1<<40+i) }),
		"sessions": list(50_000, func(i int) string {
			return fmt.Sprintf(`{id: {$binary: {base64: "%s", subType: "04"}}}`, base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%016d", i))))
		}),
		"patterns": list(20_000, func(i int) string { return fmt.Sprintf(`{users: [{user: "u%d", db: "x"}]}`, i) }),
		"privileges": list(20_000, func(i int) string {
			return fmt.Sprintf(`{resource: {db: "hostile", collection: "c%d"}, actions: ["find"]}`, i)
		}),
		"roles":      list(20_000, func(i int) string { return fmt.Sprintf(`{role: "r%d", db: "hostile"}`, i) }),
		"equalities": list(20_000, func(i int) string { return fmt.Sprintf(`{a: %d}`, i) }),
		"unequal":    list(20_000, func(i int) string { return fmt.Sprintf(`{a: {$ne: %d}}`, i) }),
		"anyOf":      anyOf,
		"rules":      list(20_000, func(i int) string { return fmt.Sprintf(`{properties: {s: {pattern: "nothing%d$"}}}`, i) }),
		"sorts":      fields(32, func(i int) string { return fmt.Sprintf(`"%s%d": 1`, strings.Repeat("a.", 1+i/2), i) }),
		"hole": list(20_001, func(i int) string {
			i %= 20_000
			if i < 10_000 {
				return fmt.Sprintf("[%v, 10]", float64(i)/1000)
			}
			return fmt.Sprintf("[%v, 5]", float64(20_000-i)/1000)
		}),
		"polygons": list(20_000, func(i int) string {
			x, y := i%300-150, i/300-40
			return fmt.Sprintf("[[[%d, %d], [%d.5, %d], [%d.5, %d.5], [%d, %d]]]", x, y, x, y, x, y, x, y)
		}),
		"slices":   fields(20_000, func(i int) string { return fmt.Sprintf(`"w.f%d": {$slice: -3}`, i) }),
		"indexes":  list(60, func(i int) string { return fmt.Sprintf(`{name: "h%d", key: {"a.b": 1, x%d: 1}}`, i, i) }),
		"filtered": fields(900, func(i int) string { return fmt.Sprintf(`"a.$[e%d].z%d": 1`, i, i) }),
		"filters":  list(900, func(i int) string { return fmt.Sprintf(`{"e%d.b": {$gt: %d}}`, i, i) }),
		"digits":   `"` + strings.Repeat("7", 1<<20) + `"`,
		"format":   `"` + strings.Repeat("%Y-%m-%d %H:%M:%S.%L ", 40_000) + `"`,
	}
}
