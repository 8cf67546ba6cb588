package tools

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
)

// Error codes that GUIs accept as refusals: for lack of privileges, and from a server that is no Atlas cluster.
const (
	unauthorized   = 13
	notFound       = 59    // CommandNotFound
	searchDisabled = 31082 // SearchNotEnabled
)

// connecting are the commands that GUIs and mongosh send when they connect: about the server, and about the
// privileges of the user.
// Source: the manual's pages of these commands; mongosh's messages at --verbose.
var connecting = []toolCommand{
	{db: "admin", command: `{hello: 1, topologyVersion: null}`, others: "isWritablePrimary maxBsonObjectSize maxMessageSizeBytes maxWriteBatchSize localTime logicalSessionTimeoutMinutes connectionId minWireVersion maxWireVersion readOnly"},
	{db: "admin", command: `{buildInfo: 1}`, others: "version versionArray gitVersion modules allocator javascriptEngine sysInfo bits debug maxBsonObjectSize storageEngines"},
	{db: "admin", command: `{atlasVersion: 1}`, no: notFound},
	{db: "admin", command: `{connectionStatus: 1, showPrivileges: true}`, others: "authInfo.authenticatedUsers.0.user authInfo.authenticatedUserRoles.0.role authInfo.authenticatedUserPrivileges.0.resource authInfo.authenticatedUserPrivileges.0.actions"},
	{db: "admin", command: `{listDatabases: 1, nameOnly: true}`, others: "databases.0.name"},
	{db: "admin", command: `{listDatabases: 1, nameOnly: true, authorizedDatabases: true}`, others: "databases.0.name"},
	{db: "admin", command: `{ping: 1}`},
	{db: "admin", command: `{whatsmyuri: 1}`, others: "you"},
	{db: "admin", command: `{aggregate: 1, cursor: {}, pipeline: [{$listLocalSessions: {}}]}`, others: "cursor.firstBatch"},
}

// knowing are the commands by which GUIs describe the server and its databases. Most of them require more privileges
// than those of the role read.
var knowing = []toolCommand{
	{db: "admin", command: `{hostInfo: 1}`, others: "system.hostname system.numCores system.memSizeMB system.cpuArch os.type os.name os.version"},
	{db: "admin", command: `{getCmdLineOpts: 1}`, others: "argv parsed"},
	{db: "admin", command: `{getParameter: 1, featureCompatibilityVersion: 1}`, others: "featureCompatibilityVersion.version"},
	{db: "admin", command: `{getParameter: {allParameters: true, showDetails: true}}`, others: "featureCompatibilityVersion.value"},
	{db: "admin", command: `{getLog: "startupWarnings"}`, others: "totalLinesWritten log"},
	{db: "admin", command: `{getLog: "global"}`, others: "totalLinesWritten log.0"},
	{db: "admin", command: `{getFreeMonitoringStatus: 1}`, others: "state"},
	{db: "admin", command: `{listDatabases: 1}`, others: "databases.0.empty", numbers: "totalSize databases.0.sizeOnDisk"},
	{db: "admin", command: `{listCommands: 1}`, others: "commands.find commands.aggregate"},
	{db: "admin", command: `{usersInfo: 1}`, others: "users.0.user users.0.roles users.0.mechanisms"},
	{db: "admin", command: `{usersInfo: {forAllDBs: true}, showPrivileges: false}`, others: "users.0.db"},
	{db: "admin", command: `{rolesInfo: 1, showBuiltinRoles: true}`, others: "roles.0.role roles.0.isBuiltin"},
	{db: "admin", command: `{replSetGetStatus: 1}`, others: "set members.0.stateStr", on: member},
	{db: "admin", command: `{listShards: 1}`, others: "shards.0._id shards.0.host", on: router},
	{db: "config", command: `{find: "collections", filter: {_id: "shop.parts"}}`, others: "cursor.firstBatch.0.key", on: router},
}

// performance are the commands of their live charts, sent every second.
var performance = []toolCommand{
	{db: "admin", command: `{serverStatus: 1}`, numbers: statusNumbers},
	{db: "admin", command: `{top: 1}`, numbers: prefixed("totals.shop:orders.", "total.time total.count readLock.time readLock.count writeLock.time writeLock.count queries.count commands.count")},
	{db: "admin", command: `{currentOp: 1}`, others: "inprog.0.type inprog.0.host inprog.0.active inprog.0.opid inprog.0.op inprog.0.ns inprog.0.command inprog.0.client inprog.0.currentOpTime", numbers: "inprog.0.secs_running inprog.0.microsecs_running"},
	{db: "admin", command: `{aggregate: 1, cursor: {}, pipeline: [{$currentOp: {allUsers: true, idleConnections: false, truncateOps: false}}, {$match: {active: true}}]}`, others: "cursor.firstBatch.0.opid cursor.firstBatch.0.command cursor.firstBatch.0.effectiveUsers"},
	{db: "admin", command: `{killOp: 1, op: 999999999}`, others: "info"},
}

// browsing are the commands that GUIs send to show a collection: its size, documents, indexes, plans and schema.
var browsing = []toolCommand{
	{db: "shop", command: `{dbStats: 1}`, numbers: "collections views objects dataSize storageSize indexes indexSize"},
	{db: "shop", command: `{listCollections: 1, nameOnly: true, authorizedCollections: true}`, others: "cursor.firstBatch.0.name cursor.firstBatch.0.type"},
	{db: "shop", command: `{listCollections: 1, filter: {name: "few"}}`, others: "cursor.firstBatch.0.options.viewOn cursor.firstBatch.0.options.pipeline cursor.firstBatch.0.info.readOnly"},
	{db: "shop", command: `{listCollections: 1, filter: {name: "orders"}}`, others: "cursor.firstBatch.0.options cursor.firstBatch.0.info.uuid cursor.firstBatch.0.idIndex.key"},
	{db: "shop", command: `{collStats: "orders"}`, others: "ns capped indexDetails", numbers: "count size avgObjSize storageSize totalIndexSize totalSize nindexes indexSizes.customer_1 scaleFactor"},
	{db: "shop", command: `{aggregate: "orders", cursor: {}, pipeline: [{$collStats: {storageStats: {scale: 1}}}, {$group: {_id: null, capped: {$first: "$storageStats.capped"}, count: {$sum: "$storageStats.count"}, size: {$sum: {$toDouble: "$storageStats.size"}}, storageSize: {$sum: {$toDouble: "$storageStats.storageSize"}}, totalIndexSize: {$sum: {$toDouble: "$storageStats.totalIndexSize"}}, nindexes: {$max: "$storageStats.nindexes"}}}]}`,
		numbers: "cursor.firstBatch.0.count cursor.firstBatch.0.size cursor.firstBatch.0.storageSize cursor.firstBatch.0.nindexes"},
	{db: "shop", command: `{aggregate: "orders", cursor: {}, pipeline: [{$collStats: {count: {}}}]}`, numbers: "cursor.firstBatch.0.count"},
	{db: "shop", command: `{count: "orders", query: {}, maxTimeMS: 5000}`, numbers: "n"},
	{db: "shop", command: `{aggregate: "orders", cursor: {}, maxTimeMS: 5000, hint: "_id_", pipeline: [{$match: {}}, {$skip: 0}, {$group: {_id: 1, n: {$sum: 1}}}]}`, numbers: "cursor.firstBatch.0.n"},
	{db: "shop", command: `{find: "orders", filter: {customer: {$in: [1, 2]}}, sort: {_id: -1}, skip: 20, limit: 20, projection: {text: 0}, maxTimeMS: 60000, batchSize: 20}`, others: "cursor.firstBatch"},
	{db: "shop", command: `{listIndexes: "orders", cursor: {}}`, others: "cursor.firstBatch.1.name cursor.firstBatch.1.key cursor.firstBatch.1.v"},
	{db: "shop", command: `{aggregate: "orders", cursor: {}, pipeline: [{$indexStats: {}}, {$project: {name: 1, usageHost: "$host", usageCount: "$accesses.ops", usageSince: "$accesses.since"}}]}`,
		others: "cursor.firstBatch.0.name cursor.firstBatch.0.usageHost", numbers: "cursor.firstBatch.0.usageCount cursor.firstBatch.0.usageSince"},
	{db: "shop", command: `{aggregate: "orders", cursor: {batchSize: 1000}, allowDiskUse: true, maxTimeMS: 60000, pipeline: [{$match: {}}, {$sample: {size: 10}}, {$project: {_id: 1, text: 1}}]}`, others: "cursor.firstBatch.9._id"}, // schema analysis
	{db: "shop", command: `{aggregate: "orders", cursor: {}, pipeline: [{$sample: {size: 5}}, {$bucketAuto: {groupBy: "$customer", buckets: 2}}]}`, others: "cursor.firstBatch.0.count"},
	{db: "shop", command: `{explain: {find: "orders", filter: {customer: 3}, sort: {_id: 1}}, verbosity: "queryPlanner"}`, others: "queryPlanner.namespace queryPlanner.parsedQuery queryPlanner.winningPlan queryPlanner.rejectedPlans command serverInfo.host"},
	{db: "shop", command: `{explain: {find: "orders", filter: {customer: 3}}, verbosity: "executionStats"}`, others: "queryPlanner.winningPlan executionStats.executionStages executionStats.executionSuccess", numbers: "executionStats.nReturned executionStats.totalKeysExamined executionStats.totalDocsExamined executionStats.executionTimeMillis"},
	{db: "shop", command: `{explain: {find: "orders", filter: {customer: 3}}, verbosity: "allPlansExecution"}`, numbers: "executionStats.nReturned"},
	{db: "shop", command: `{explain: {aggregate: "orders", pipeline: [{$match: {customer: 3}}, {$group: {_id: "$customer"}}], cursor: {}}, verbosity: "executionStats"}`},
	{db: "shop", command: `{explain: {update: "orders", updates: [{q: {customer: 3}, u: {$set: {x: 1}}, multi: true}]}, verbosity: "queryPlanner"}`, others: "queryPlanner.winningPlan"},
	{db: "shop", command: `{explain: {delete: "orders", deletes: [{q: {customer: 3}, limit: 1}]}, verbosity: "queryPlanner"}`, others: "queryPlanner.winningPlan"},
	{db: "shop", command: `{distinct: "orders", key: "customer", query: {}}`, others: "values.6"},
	{db: "shop", command: `{find: "system.profile", sort: {ts: -1}, limit: 10}`, others: "cursor.firstBatch.0.op cursor.firstBatch.0.ns cursor.firstBatch.0.command cursor.firstBatch.0.user", numbers: "cursor.firstBatch.0.millis cursor.firstBatch.0.ts"},
	{db: "shop", command: `{validate: "orders"}`, others: "valid nrecords keysPerIndex"},
}

// editing are the commands that change validation rules, indexes and documents.
var editing = []toolCommand{
	{db: "shop", command: `{create: "ruled", validator: {$jsonSchema: {required: ["name"]}}, validationLevel: "strict", validationAction: "error"}`},
	{db: "shop", command: `{listCollections: 1, filter: {name: "ruled"}}`, others: "cursor.firstBatch.0.options.validator cursor.firstBatch.0.options.validationLevel cursor.firstBatch.0.options.validationAction"},
	{db: "shop", command: `{collMod: "ruled", validator: {name: {$type: "string"}}, validationLevel: "moderate", validationAction: "warn"}`},
	{db: "shop", command: `{aggregate: "orders", cursor: {}, pipeline: [{$sample: {size: 1000}}, {$match: {$jsonSchema: {required: ["customer"]}}}, {$limit: 1}]}`, others: "cursor.firstBatch.0._id"},
	{db: "shop", command: `{createIndexes: "orders", indexes: [{key: {text: 1}, name: "text_1", collation: {locale: "en", strength: 2}, partialFilterExpression: {customer: {$gt: 2}}}]}`, numbers: "numIndexesAfter"},
	{db: "shop", command: `{collMod: "orders", index: {name: "text_1", hidden: true}}`, others: "hidden_new"},
	{db: "shop", command: `{dropIndexes: "orders", index: "text_1"}`, numbers: "nIndexesWas"},
	{db: "shop", command: `{findAndModify: "orders", query: {_id: 1, customer: 1}, update: {$set: {note: "seen"}}, new: true}`, others: "value.note lastErrorObject.updatedExisting"},
	{db: "admin", command: `{renameCollection: "shop.ruled", to: "shop.laws"}`},
	{db: "shop", command: `{drop: "laws"}`},
	{db: "shop", command: `{profile: -1}`, numbers: "was slowms sampleRate"},
	{db: "admin", command: `{currentOp: 1, "command.createIndexes": {$exists: true}}`, others: "inprog"}, // builds in progress
}

// cloudOnly are commands that only MongoDB's cloud supports. If the server refuses them with the expected error, GUIs
// hide the feature.
var cloudOnly = []toolCommand{
	{db: "shop", command: `{aggregate: "orders", cursor: {}, pipeline: [{$listSearchIndexes: {}}]}`, no: searchDisabled},
	{db: "shop", command: `{createSearchIndexes: "orders", indexes: [{name: "default", definition: {mappings: {dynamic: true}}}]}`, no: searchDisabled},
	{db: "shop", command: `{updateSearchIndex: "orders", name: "default", definition: {mappings: {dynamic: true}}}`, no: searchDisabled},
	{db: "shop", command: `{dropSearchIndex: "orders", name: "default"}`, no: searchDisabled},
	{db: "shop", command: `{aggregate: "orders", cursor: {}, pipeline: [{$search: {text: {query: "x", path: "text"}}}]}`, no: searchDisabled},
	{db: "admin", command: `{storageGetConfig: 1}`, no: notFound},   // Atlas Data Federation
	{db: "shop", command: `{sqlGetSchema: "orders"}`, no: notFound}, // Atlas SQL
}

func TestGUIs(t *testing.T) {
	for _, variant := range []string{router, member} {
		t.Run(variant, func(t *testing.T) {
			root, _ := start(t, variant, bson.A{bson.D{{Key: "role", Value: "read"}, {Key: "db", Value: "shop"}}})
			for _, asks := range [][]toolCommand{connecting, knowing, performance, browsing, editing, cloudOnly} {
				each(t, variant, root, asks)
			}
		})
	}
}

// TestReaderInGUI checks that a user with the role read on one database can connect with a GUI and sees only that
// database, and that most of the other commands are refused with the code that GUIs expect.
func TestReaderInGUI(t *testing.T) {
	_, reader := start(t, member, bson.A{bson.D{{Key: "role", Value: "read"}, {Key: "db", Value: "shop"}}})
	each(t, member, reader, connecting)
	for _, asks := range [][]toolCommand{knowing, performance, editing} {
		for _, a := range asks {
			if a.on == router || strings.Contains(a.command, "usersInfo: 1") || strings.Contains(a.command, "aggregate") || strings.Contains(a.command, "list") {
				continue
			}
			a.no = unauthorized
			t.Run(a.db+"/"+a.command, func(t *testing.T) { a.try(t, reader) })
		}
	}
	reply, err := run(t.Context(), reader, "admin", `{listDatabases: 1}`)
	bsontest.Must(t, err)
	dbs, err := reply.Lookup("databases").Array().Values()
	bsontest.Must(t, err)
	if len(dbs) != 1 || dbs[0].Document().Lookup("name").StringValue() != "shop" {
		t.Errorf("a reader of shop sees %v", dbs)
	}
}
