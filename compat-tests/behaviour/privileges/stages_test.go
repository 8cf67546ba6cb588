package privileges

import "strings"

// stages has a request for each stage of the server at least once, in alphabetical order. A text that is not a
// command is a stage, which is sent in a pipeline on the target.
var stages = []request{
	{"$addFields", `{$addFields: {x: 1}}`, "find @ns"},
	{"$bucket", `{$bucket: {groupBy: "$a", boundaries: [0, 1], default: 2}}`, "find @ns"},
	{"$bucketAuto", `{$bucketAuto: {groupBy: "$a", buckets: 2}}`, "find @ns"},
	{"$changeStream", `{$changeStream: {}}`, "find @ns, changeStream @ns"},
	{"$changeStream (database)", database(`{$changeStream: {}}`), "find @db., changeStream @db."},
	{"$changeStream (cluster)", admin(`{$changeStream: {allChangesForCluster: true}}`), "find *., changeStream *."},
	{"$changeStreamSplitLargeEvent", `{$changeStream: {}}, {$changeStreamSplitLargeEvent: {}}`, "find @ns, changeStream @ns"},
	{"$collStats", `{$collStats: {count: {}}}`, "collStats @ns"},
	{"$count", `{$count: "n"}`, "find @ns"},
	{"$currentOp", admin(`{$currentOp: {}}`), "user"},
	{"$currentOp (of all)", admin(`{$currentOp: {allUsers: true}}`), "inprog cluster"},
	{"$densify", `{$densify: {field: "a", range: {step: 1, bounds: "full"}}}`, "find @ns"},
	{"$documents", database(`{$documents: []}`), "user"},
	{"$facet", `{$facet: {x: [{$match: {}}]}}`, "find @ns"},
	{"$facet (with a union)", `{$facet: {x: [{$unionWith: "d"}]}}`, "find @ns, find @db.d"},
	{"$fill", `{$fill: {output: {a: {value: 1}}}}`, "find @ns"},
	{"$geoNear", `{$geoNear: {near: [0, 0], distanceField: "d"}}`, "find @ns"},
	{"$graphLookup", on(`{$graphLookup: {from: "@coll", startWith: "$a", connectFromField: "a", connectToField: "a", as: "x"}}`), "find @db.d, find @ns"},
	{"$group", `{$group: {_id: null}}`, "find @ns"},
	{"$indexStats", `{$indexStats: {}}`, "indexStats @ns"},
	{"$limit", `{$limit: 1}`, "find @ns"},
	{"$listCatalog", `{$listCatalog: {}}`, "listCollections @ns, listIndexes @ns"},
	{"$listCatalog (cluster)", admin(`{$listCatalog: {}}`), "listCollections *., listIndexes *."},
	{"$listClusterCatalog", database(`{$listClusterCatalog: {}}`), "listCollections @db."},
	{"$listClusterCatalog (cluster)", admin(`{$listClusterCatalog: {}}`), "listClusterCatalog cluster"},
	{"$listLocalSessions", admin(`{$listLocalSessions: {}}`), "user"},
	{"$listLocalSessions (of all)", admin(`{$listLocalSessions: {allUsers: true}}`), "listSessions cluster"},
	{"$listSampledQueries", admin(`{$listSampledQueries: {}}`), "listSampledQueries cluster"},
	{"$listSearchIndexes", `{$listSearchIndexes: {}}`, "listSearchIndexes @ns"},
	{"$listSessions", `{aggregate: "system.sessions", pipeline: [{$listSessions: {}}], cursor: {}, $db: "config"}`, "user"},
	{"$listSessions (of all)", `{aggregate: "system.sessions", pipeline: [{$listSessions: {allUsers: true}}], cursor: {}, $db: "config"}`, "listSessions cluster"},
	{"$lookup", on(`{$lookup: {from: "@coll", localField: "a", foreignField: "a", as: "x"}}`), "find @db.d, find @ns"},
	{"$lookup (pipeline)", on(`{$lookup: {from: "d", pipeline: [{$unionWith: "@coll"}], as: "x"}}`), "find @db.d, find @ns"},
	{"$match", `{$match: {}}`, "find @ns"},
	{"$merge", `{aggregate: "c", pipeline: [{$merge: {into: {db: "@db", coll: "@coll"}}}], cursor: {}, $db: "own"}`, "find own.c, insert @ns, update @ns"},
	{"$merge (updating)", `{aggregate: "c", pipeline: [{$merge: {into: {db: "@db", coll: "@coll"}, whenNotMatched: "discard"}}], cursor: {}, $db: "own"}`, "find own.c, update @ns"},
	{"$out", `{aggregate: "c", pipeline: [{$out: {db: "@db", coll: "@coll"}}], cursor: {}, $db: "own"}`, "find own.c, insert @ns, remove @ns"},
	{"$planCacheStats", `{$planCacheStats: {}}`, "planCacheRead @ns"},
	{"$project", `{$project: {a: 1}}`, "find @ns"},
	{"$querySettings", admin(`{$querySettings: {}}`), "querySettings cluster"},
	{"$queryStats", admin(`{$queryStats: {}}`), "queryStatsRead cluster"},
	{"$queryStats (transformed)", admin(`{$queryStats: {transformIdentifiers: {algorithm: "hmac-sha-256", hmacKey: {$binary: {base64: "MTI=", subType: "08"}}}}}`),
		"queryStatsRead cluster, queryStatsReadTransformed cluster"},
	{"$rankFusion", `{$rankFusion: {input: {pipelines: {x: [{$sort: {a: -1}}]}}}}`, "find @ns"},
	{"$redact", `{$redact: "$$KEEP"}`, "find @ns"},
	{"$replaceRoot", `{$replaceRoot: {newRoot: {}}}`, "find @ns"},
	{"$replaceWith", `{$replaceWith: {}}`, "find @ns"},
	{"$sample", `{$sample: {size: 1}}`, "find @ns"},
	{"$score", `{$score: {score: "$a"}}`, "find @ns"},
	{"$scoreFusion", `{$scoreFusion: {input: {pipelines: {x: [{$score: {score: "$a"}}]}, normalization: "none"}}}`, "find @ns"},
	{"$search", `{$search: {}}`, "find @ns"},
	{"$searchMeta", `{$searchMeta: {}}`, "find @ns"},
	{"$set", `{$set: {x: 1}}`, "find @ns"},
	{"$setWindowFields", `{$setWindowFields: {sortBy: {a: 1}, output: {x: {$rank: {}}}}}`, "find @ns"},
	{"$shardedDataDistribution", admin(`{$shardedDataDistribution: {}}`), "shardedDataDistribution cluster"},
	{"$skip", `{$skip: 1}`, "find @ns"},
	{"$sort", `{$sort: {a: 1}}`, "find @ns"},
	{"$sortByCount", `{$sortByCount: "$a"}`, "find @ns"},
	{"$unionWith", on(`{$unionWith: "@coll"}`), "find @db.d, find @ns"},
	{"$unionWith (database)", database(`{$documents: []}, {$unionWith: "@coll"}`), "find @ns"},
	{"$unset", `{$unset: "a"}`, "find @ns"},
	{"$unwind", `{$unwind: "$a"}`, "find @ns"},
	{"$vectorSearch", `{$vectorSearch: {}}`, "find @ns"},
}

// on returns a pipeline that reads the collection d in the database of the target; its stages name the target's
// collection.
func on(pipeline string) string {
	return `{aggregate: "d", pipeline: [` + pipeline + `], cursor: {}, $db: "@db"}`
}

// database returns a pipeline on the target's database.
func database(pipeline string) string {
	return `{aggregate: 1, pipeline: [` + pipeline + `], cursor: {}, $db: "@db"}`
}

// admin returns a pipeline on the database admin.
func admin(pipeline string) string {
	return `{aggregate: 1, pipeline: [` + pipeline + `], cursor: {}, $db: "admin"}`
}

// command returns the text of a request as a command.
func (r *request) command() string {
	if strings.HasPrefix(r.name, "$") && strings.HasPrefix(r.text, "{$") {
		return `{aggregate: "@coll", pipeline: [` + r.text + `], cursor: {}, $db: "@db"}`
	}
	return r.text
}
