package authfuzz

import "strings"

// commandLines are valid requests, at least one of each command. Tokens with @ are replaced when a request is made:
//
//	@db @coll @view @new  a database, a collection, a view, a collection that does not exist
//	@ns @dbname           "db.coll"; a name in the database of the request
//	@user @role           of the user's database, or of others
//	@uuid @cursor @lsid   the UUID of a collection, an open cursor, a session
//	@op @index @secret    an operation, an index, a password that no log may show
//
// A request without $db is sent to @db.
var commandLines = split(`
{authenticate: 1, mechanism: "MONGODB-X509", user: "nobody", $db: "$external"}
{connectionStatus: 1, showPrivileges: true}
{createRole: "@new", privileges: [{resource: {db: "@db", collection: "@coll"}, actions: ["find"]}], roles: [{role: "@role", db: "@db"}], authenticationRestrictions: []}
{createUser: "@new", pwd: "@secret", customData: {a: 1}, roles: [{role: "@role", db: "@db"}], mechanisms: ["SCRAM-SHA-256"]}
{dropAllRolesFromDatabase: 1}
{dropAllUsersFromDatabase: 1}
{dropRole: "@role"}
{dropUser: "@user"}
{grantPrivilegesToRole: "@role", privileges: [{resource: {db: "@db", collection: "@coll"}, actions: ["find"]}]}
{grantRolesToRole: "@role", roles: [{role: "@role", db: "@db"}]}
{grantRolesToRole: "@role", roles: ["@role"]}
{grantRolesToUser: "@user", roles: [{role: "@role", db: "@db"}]}
{grantRolesToUser: "@user", roles: ["@role"]}
{invalidateUserCache: 1, $db: "admin"}
{logout: 1}
{revokePrivilegesFromRole: "@role", privileges: [{resource: {db: "@db", collection: "@coll"}, actions: ["find"]}]}
{revokeRolesFromRole: "@role", roles: [{role: "@role", db: "@db"}]}
{revokeRolesFromUser: "@user", roles: [{role: "@role", db: "@db"}]}
{rolesInfo: {role: "@role", db: "@db"}, showPrivileges: true, showBuiltinRoles: false}
{rolesInfo: 1, showPrivileges: true}
{rolesInfo: ["@role", {role: "@role", db: "@db"}], showPrivileges: "asUserFragment"}
{saslContinue: 1, conversationId: 1, payload: {$binary: {base64: "", subType: "00"}}}
{saslStart: 1, mechanism: "SCRAM-SHA-256", payload: {$binary: {base64: "biwsbj1hLHI9YWFhYWFhYWFhYWFhYWFhYWFhYWE=", subType: "00"}}}
{updateRole: "@role", privileges: [{resource: {db: "@db", collection: "@coll"}, actions: ["find"]}], roles: [{role: "@role", db: "@db"}]}
{updateUser: "@user", pwd: "@secret", customData: {a: 1}, roles: [{role: "@role", db: "@db"}]}
{updateUser: "@user", pwd: "@secret"}
{usersInfo: {user: "@user", db: "@db"}, showCredentials: true}
{usersInfo: "@user", showCredentials: true, showCustomData: true, showPrivileges: true}
{usersInfo: [{user: "@user", db: "@db"}, "@user"], filter: {}}
{usersInfo: {forAllDBs: true}, showCredentials: true}
{usersInfo: 1, showAuthenticationRestrictions: true}
{whatsmyuri: 1}
{aggregate: "@coll", pipeline: [{$match: {}}], cursor: {batchSize: 10}}
{aggregate: 1, pipeline: [{$documents: [{a: 1}]}, {$lookup: {from: "@coll", pipeline: [], as: "b"}}], cursor: {}}
{aggregate: "@coll", pipeline: [{$out: {db: "@db", coll: "@new"}}], cursor: {}, bypassDocumentValidation: true}
{aggregate: "@coll", pipeline: [{$merge: {into: {db: "@db", coll: "@coll"}, on: "_id", whenMatched: "replace", whenNotMatched: "insert"}}], cursor: {}}
{aggregate: "@uuid", pipeline: [], cursor: {}}
{applyOps: [{op: "i", ns: "@ns", o: {_id: 9, x: 1}}, {op: "u", ns: "@ns", o2: {_id: 1}, o: {$set: {x: 2}}}, {op: "d", ns: "@ns", o: {_id: 1}}, {op: "c", ns: "@cmd", o: {drop: "@coll"}}], $db: "admin"}
{applyOps: [{op: "c", ns: "@cmd", o: {create: "@new", viewOn: "@coll", pipeline: []}}], preCondition: [{ns: "@ns", q: {_id: 1}, res: {x: 1}}], $db: "admin"}
{applyOps: [{op: "n", ns: "@ns", o: {}}], $db: "admin"}
{bulkWrite: 1, ops: [{insert: 0, document: {x: 1}}, {update: 0, filter: {}, updateMods: {$inc: {x: 1}}, multi: true}, {delete: 0, filter: {}}], nsInfo: [{ns: "@ns"}, {ns: "@ns"}], ordered: false, $db: "admin"}
{bulkWrite: 1, ops: [{delete: 0, filter: {}, multi: true}], nsInfo: [{ns: "@ns"}], $db: "admin"}
{bulkWrite: 1, ops: [{update: 0, filter: {_id: 1}, updateMods: {$set: {x: 1}}, upsert: true}], nsInfo: [{ns: "@ns"}], bypassDocumentValidation: true, $db: "admin"}
{count: "@coll", query: {}}
{dbHash: 1, collections: ["@coll"]}
{delete: "@coll", deletes: [{q: {}, limit: 0}]}
{distinct: "@coll", key: "s", query: {}}
{find: "@coll", filter: {}, projection: {}, batchSize: 5}
{find: "@uuid"}
{findAndModify: "@coll", query: {}, update: {$inc: {x: 1}}, new: true}
{findAndModify: "@coll", query: {}, remove: true}
{findAndModify: "@coll", query: {_id: 77}, update: {$set: {x: 1}}, upsert: true, fields: {s: 1}}
{getFreeMonitoringStatus: 1, $db: "admin"}
{getLastError: 1}
{getLastRequestStatistics: 1}
{getMore: "@cursor", collection: "@coll"}
{insert: "@coll", documents: [{x: 1}, {x: 2}], ordered: false, bypassDocumentValidation: true}
{killCursors: "@coll", cursors: ["@cursor"]}
{releaseMemory: ["@cursor"]}
{mapReduce: "@coll", map: "function() { emit(this._id, this.s) }", reduce: "function(k, v) { return v[0] }", out: {inline: 1}}
{mapReduce: "@coll", map: "function() { emit(1, 1) }", reduce: "function(k, v) { return 1 }", out: {replace: "@coll", db: "@db"}}
{mapReduce: "@coll", map: "function() { emit(1, 1) }", reduce: "function(k, v) { return 1 }", out: {merge: "@coll", nonAtomic: false}}
{mapReduce: "@coll", map: "function() { emit(1, 1) }", reduce: "function(k, v) { return 1 }", out: {reduce: "@coll"}, query: {}, sort: {_id: 1}, limit: 3, scope: {a: 1}}
{mapReduce: "@coll", map: "function() { emit(1, 1) }", reduce: "function(k, v) { return 1 }", out: "@coll"}
{update: "@coll", updates: [{q: {}, u: {$inc: {x: 1}}, multi: true}]}
{update: "@coll", updates: [{q: {_id: 1}, u: [{$set: {x: 5}}], upsert: true}], bypassDocumentValidation: true}
{configureFailPoint: "failCommand", mode: {times: 1}, data: {failCommands: ["ping"], errorCode: 6}, $db: "admin"}
{explain: {find: "@coll", filter: {}}, verbosity: "executionStats"}
{explain: {aggregate: "@coll", pipeline: [{$lookup: {from: "@coll", localField: "x", foreignField: "x", as: "y"}}], cursor: {}}, verbosity: "executionStats"}
{explain: {update: "@coll", updates: [{q: {}, u: {$inc: {x: 1}}, multi: true}]}, verbosity: "executionStats"}
{explain: {createUser: "@new", pwd: "@secret", roles: []}}
{planCacheClear: "@coll", query: {s: 1}}
{planCacheClearFilters: "@coll", query: {s: 1}}
{planCacheListFilters: "@coll"}
{planCacheSetFilter: "@coll", query: {s: 1}, indexes: [{_id: 1}]}
{removeQuerySettings: {find: "@coll", filter: {x: 1}, $db: "@db"}, $db: "admin"}
{setQuerySettings: {find: "@coll", filter: {x: 1}, $db: "@db"}, settings: {reject: true}, $db: "admin"}
{checkMetadataConsistency: 1}
{cloneCollectionAsCapped: "@coll", toCollection: "@new", size: 100000}
{collMod: "@coll", validator: {x: {$exists: true}}, validationLevel: "moderate"}
{collMod: "@view", viewOn: "@coll", pipeline: [{$unionWith: "@coll"}]}
{collMod: "@view", viewOn: "@coll", pipeline: []}
{collMod: "@coll", index: {keyPattern: {x: 1}, hidden: true}}
{collMod: "@coll", changeStreamPreAndPostImages: {enabled: true}}
{collStats: "@coll", scale: 1}
{compact: "@coll"}
{convertToCapped: "@coll", size: 100000}
{create: "@new", validator: {x: 1}}
{create: "@new", viewOn: "@coll", pipeline: [{$unionWith: {coll: "@coll", pipeline: []}}]}
{create: "@new", capped: true, size: 100000, max: 10}
{createIndexes: "@coll", indexes: [{key: {x: 1}, name: "x_1"}]}
{createSearchIndexes: "@coll", indexes: [{name: "a", definition: {}}]}
{dataSize: "@ns", keyPattern: {_id: 1}, min: {_id: 0}, max: {_id: 9999}}
{dbStats: 1, scale: 1}
{drop: "@coll"}
{dropDatabase: 1}
{dropIndexes: "@coll", index: "*"}
{dropSearchIndex: "@coll", name: "a"}
{listCollections: 1, filter: {}, nameOnly: true, authorizedCollections: true}
{listCollections: 1}
{listDatabases: 1, filter: {}, nameOnly: true, authorizedDatabases: false, $db: "admin"}
{listDatabases: 1, $db: "admin"}
{listIndexes: "@coll", cursor: {}}
{reIndex: "@coll"}
{renameCollection: "@ns", to: "@ns", dropTarget: true, $db: "admin"}
{updateSearchIndex: "@coll", name: "a", definition: {}}
{validate: "@coll", full: true}
{validateDBMetadata: 1, apiParameters: {version: "1"}, db: "@db", collection: "@coll"}
{abortTransaction: 1, lsid: "@lsid", txnNumber: {$numberLong: "1"}, autocommit: false, $db: "admin"}
{commitTransaction: 1, lsid: "@lsid", txnNumber: {$numberLong: "1"}, autocommit: false, $db: "admin"}
{endSessions: ["@lsid"], $db: "admin"}
{killAllSessions: [{user: "@user", db: "@db"}]}
{killAllSessionsByPattern: [{lsid: "@lsid"}]}
{killSessions: ["@lsid"]}
{refreshSessions: ["@lsid"]}
{startSession: 1}
{getClusterParameter: "*", $db: "admin"}
{getDefaultRWConcern: 1, $db: "admin"}
{getParameter: "*", $db: "admin"}
{setClusterParameter: {defaultMaxTimeMS: {readOperations: 1}}, $db: "admin"}
{setDefaultRWConcern: 1, defaultReadConcern: {level: "local"}, $db: "admin"}
{setFeatureCompatibilityVersion: "7.0", confirm: true, $db: "admin"}
{setParameter: 1, cursorTimeoutMillis: 123456, $db: "admin"}
{abortMoveCollection: "@ns", $db: "admin"}
{abortReshardCollection: "@ns", $db: "admin"}
{abortUnshardCollection: "@ns", $db: "admin"}
{addShard: "a/b:1", $db: "admin"}
{addShardToZone: "shard0", zone: "z", $db: "admin"}
{analyzeShardKey: "@ns", key: {s: 1}, keyCharacteristics: true, $db: "admin"}
{balancerCollectionStatus: "@ns", $db: "admin"}
{balancerStart: 1, $db: "admin"}
{balancerStatus: 1, $db: "admin"}
{balancerStop: 1, $db: "admin"}
{cleanupReshardCollection: "@ns", $db: "admin"}
{clearJumboFlag: "@ns", find: {_id: 1}, $db: "admin"}
{commitReshardCollection: "@ns", $db: "admin"}
{commitShardRemoval: "shard0", $db: "admin"}
{commitTransitionToDedicatedConfigServer: 1, $db: "admin"}
{configureCollectionBalancing: "@ns", chunkSize: 10, $db: "admin"}
{configureQueryAnalyzer: "@ns", mode: "full", samplesPerSecond: 5, $db: "admin"}
{customAction: "Backup", to: "/nonexistent/a"}
{customAction: "Clock", advanceMs: 1}
{customAction: "CreateCollection", collection: "@new", offerThroughput: 1000, shardKey: "k"}
{customAction: "CreateDatabase", offerThroughput: 1000}
{customAction: "GetChangeStreamTokens", collection: "@coll"}
{customAction: "GetCollection", collection: "@coll", showCapacity: true, showIndexes: true}
{customAction: "GetDatabase"}
{customAction: "GetPartitions", collection: "@coll", top: 10}
{customAction: "GetRecordedTraffic", collection: "@coll", shardKey: "s", partitions: 4}
{customAction: "GetRequestReport", collection: "@coll", top: 10}
{customAction: "InjectThrottle", collection: "@coll", nth: 1}
{customAction: "MergePartitions", collection: "@coll"}
{customAction: "MigrateThroughput", collection: "@coll", throughputType: "autoscale"}
{customAction: "PrepareThroughput", collection: "@coll", offerThroughput: 2000, to: {$date: "2100-01-01T00:00:00Z"}}
{customAction: "RedistributeThroughput", collection: "@coll", equal: true}
{customAction: "ScheduleThroughput", collection: "@coll", schedule: [{cron: "0 0 1 1 *", offerThroughput: 2000}]}
{customAction: "UpdateCollection", collection: "@coll", offerThroughput: 2000}
{customAction: "UpdateDatabase", offerThroughput: 2000}
{enableSharding: "@db", $db: "admin"}
{flushRouterConfig: 1, $db: "admin"}
{getShardMap: 1, $db: "admin"}
{getShardVersion: "@ns", $db: "admin"}
{getTransitionToDedicatedConfigServerStatus: 1, $db: "admin"}
{listShards: 1, $db: "admin"}
{mergeAllChunksOnShard: "@ns", shard: "shard0", $db: "admin"}
{mergeChunks: "@ns", bounds: [{_id: {$minKey: 1}}, {_id: {$maxKey: 1}}], $db: "admin"}
{moveChunk: "@ns", find: {_id: 1}, to: "shard0", $db: "admin"}
{moveCollection: "@ns", toShard: "shard0", $db: "admin"}
{movePrimary: "@db", to: "shard0", $db: "admin"}
{moveRange: "@ns", min: {_id: 1}, toShard: "shard0", $db: "admin"}
{refineCollectionShardKey: "@ns", key: {_id: 1, x: 1}, $db: "admin"}
{removeShard: "shard0", $db: "admin"}
{removeShardFromZone: "shard0", zone: "z", $db: "admin"}
{reshardCollection: "@ns", key: {x: 1}, numInitialChunks: 2, $db: "admin"}
{setAllowMigrations: "@ns", allowMigrations: false, $db: "admin"}
{shardCollection: "@ns", key: {_id: "hashed"}, numInitialChunks: 2, $db: "admin"}
{shardDrainingStatus: "shard0", $db: "admin"}
{split: "@ns", middle: {_id: 1}, $db: "admin"}
{splitVector: "@ns", keyPattern: {_id: 1}, maxChunkSizeBytes: 1024, $db: "admin"}
{startShardDraining: "shard0", $db: "admin"}
{startTransitionToDedicatedConfigServer: 1, $db: "admin"}
{stopShardDraining: "shard0", $db: "admin"}
{stopTransitionToDedicatedConfigServer: 1, $db: "admin"}
{transitionFromDedicatedConfigServer: 1, $db: "admin"}
{transitionToDedicatedConfigServer: 1, $db: "admin"}
{unshardCollection: "@ns", toShard: "shard0", $db: "admin"}
{updateZoneKeyRange: "@ns", min: {_id: 1}, max: {_id: 2}, zone: "z", $db: "admin"}
{autoCompact: true, freeSpaceTargetMB: 10, $db: "admin"}
{buildInfo: 1}
{compactStructuredEncryptionData: "@coll", compactionTokens: {}}
{connPoolStats: 1}
{currentOp: 1, $all: true, $ownOps: true, $db: "admin"}
{currentOp: 1, $ownOps: true, $db: "admin"}
{dropConnections: 1, hostAndPort: ["localhost:1"], $db: "admin"}
{features: 1}
{fsync: 1, $db: "admin"}
{fsync: 1, lock: true, $db: "admin"}
{fsyncUnlock: 1, $db: "admin"}
{getCmdLineOpts: 1, $db: "admin"}
{getDiagnosticData: 1, $db: "admin"}
{getLog: "global", $db: "admin"}
{hello: 1, saslSupportedMechs: "@dbname", speculativeAuthenticate: {saslStart: 1, mechanism: "SCRAM-SHA-256", payload: {$binary: {base64: "biwsbj1hLHI9YWFhYWFhYWFhYWFhYWFhYWFhYWE=", subType: "00"}}, db: "@db"}}
{hostInfo: 1}
{isMaster: 1, saslSupportedMechs: "@dbname"}
{isdbgrid: 1}
{killOp: 1, op: "@op", $db: "admin"}
{listCommands: 1}
{lockInfo: 1, $db: "admin"}
{logRotate: 1, $db: "admin"}
{ping: 1}
{profile: 2, slowms: 0, sampleRate: 1.0, filter: {op: "query"}}
{profile: -1}
{replSetGetConfig: 1, $db: "admin"}
{replSetGetStatus: 1, $db: "admin"}
{replSetInitiate: {_id: "a", members: [{_id: 0, host: "a:1"}]}, $db: "admin"}
{replSetReconfig: {_id: "a", version: 2, members: [{_id: 0, host: "a:1"}]}, $db: "admin"}
{replSetStepDown: 1, $db: "admin"}
{replSetStepUp: 1, $db: "admin"}
{serverStatus: 1}
{setUserWriteBlockMode: 1, global: true, $db: "admin"}
{shutdown: 1, $db: "admin"}
{testVersion2: 1}
{top: 1, $db: "admin"}
`)

// split returns the lines of a list.
func split(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }
