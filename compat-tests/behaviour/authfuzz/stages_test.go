package authfuzz

// stageLines are valid stages, at least one of each kind, with tokens as in commandLines. " on " after a stage names
// the database or collection that it requires instead of the user's collection.
var stageLines = split(`
{$addFields: {a: "$x"}}
{$bucket: {groupBy: "$_id", boundaries: [0, 10, 100000], default: "other", output: {s: {$push: "$s"}}}}
{$bucketAuto: {groupBy: "$_id", buckets: 2}}
{$changeStream: {fullDocument: "updateLookup", startAtOperationTime: {$timestamp: {t: 1, i: 1}}}}
{$changeStream: {allChangesForCluster: true, fullDocument: "updateLookup"}} on admin
{$changeStream: {showExpandedEvents: true}} on @db
{$changeStreamSplitLargeEvent: {}}
{$collStats: {latencyStats: {histograms: true}, storageStats: {}, count: {}, queryExecStats: {}}}
{$count: "n"}
{$currentOp: {allUsers: false, idleConnections: true, idleSessions: true, idleCursors: true, localOps: true, truncateOps: false}} on admin
{$densify: {field: "x", range: {step: 1, bounds: [0, 3]}}}
{$documents: [{a: 1}]} on @db
{$facet: {a: [{$match: {}}], b: [{$lookup: {from: "@coll", as: "b", pipeline: []}}]}}
{$fill: {sortBy: {_id: 1}, output: {x: {method: "locf"}}}}
{$geoNear: {near: [0, 0], key: "loc", distanceField: "d"}}
{$graphLookup: {from: "@coll", startWith: 1, connectFromField: "x", connectToField: "_id", as: "g", maxDepth: 2, restrictSearchWithMatch: {}}}
{$group: {_id: null, n: {$sum: 1}, s: {$push: "$$ROOT"}}}
{$indexStats: {}}
{$limit: 3}
{$listCatalog: {}}
{$listCatalog: {}} on admin
{$listClusterCatalog: {shards: true, balancingConfiguration: true}} on @db
{$listClusterCatalog: {}} on admin
{$listLocalSessions: {users: [{user: "@user", db: "@db"}]}} on @db
{$listLocalSessions: {allUsers: false}} on @db
{$listSampledQueries: {namespace: "@ns"}} on admin
{$listSearchIndexes: {}}
{$listSessions: {users: [{user: "@user", db: "@db"}]}} on config.system.sessions
{$listSessions: {allUsers: false}} on config.system.sessions
{$lookup: {from: "@coll", localField: "k", foreignField: "k", as: "y"}}
{$lookup: {from: {db: "@db", coll: "@coll"}, let: {a: "$x"}, pipeline: [{$match: {}}], as: "y"}}
{$lookup: {from: "@coll", pipeline: [{$unionWith: "@coll"}], as: "y"}}
{$match: {_id: {$gte: 0}}}
{$match: {$expr: {$function: {body: "function() { return true }", args: [], lang: "js"}}}}
{$merge: {into: "@coll", on: "_id", whenMatched: "merge", whenNotMatched: "insert"}}
{$merge: {into: {db: "@db", coll: "@coll"}, let: {a: 1}, whenMatched: [{$set: {x: 1}}], whenNotMatched: "discard"}}
{$merge: {into: {db: "@db", coll: "@coll"}, whenMatched: "fail"}}
{$out: "@new"}
{$out: {db: "@db", coll: "@coll"}}
{$out: {db: "@db", coll: "@new", timeseries: {timeField: "t"}}}
{$planCacheStats: {}}
{$project: {s: 1, a: {$literal: 1}}}
{$querySettings: {showDebugQueryShape: true}} on admin
{$queryStats: {}} on admin
{$queryStats: {transformIdentifiers: {algorithm: "hmac-sha-256", hmacKey: {$binary: {base64: "MTI=", subType: "08"}}}}} on admin
{$rankFusion: {input: {pipelines: {x: [{$sort: {x: -1}}], y: [{$sort: {_id: -1}}]}}}}
{$redact: {$cond: [true, "$$KEEP", "$$PRUNE"]}}
{$replaceRoot: {newRoot: {a: "$$ROOT"}}}
{$replaceWith: {a: "$s"}}
{$sample: {size: 3}}
{$score: {score: "$x", normalization: "sigmoid", weight: 1}}
{$scoreFusion: {input: {pipelines: {x: [{$score: {score: "$x"}}]}, normalization: "none"}}}
{$search: {text: {query: "a", path: "s"}}}
{$searchMeta: {}}
{$set: {a: "$s"}}
{$setWindowFields: {sortBy: {_id: 1}, output: {r: {$push: "$s", window: {documents: [-1, 0]}}}}}
{$shardedDataDistribution: {}} on admin
{$skip: 1}
{$sort: {_id: 1}}
{$sortByCount: "$s"}
{$unionWith: {coll: "@coll", pipeline: [{$match: {}}]}}
{$unionWith: {db: "@db", coll: "@coll", pipeline: []}}
{$unionWith: "@coll"}
{$unset: "x"}
{$unwind: {path: "$s", preserveNullAndEmptyArrays: true}}
{$vectorSearch: {}}
`)
