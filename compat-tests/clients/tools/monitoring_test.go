package tools

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson/bsontest"
)

// watching are the roles that exporters and agents require.
var watching = bson.A{"clusterMonitor", bson.D{{Key: "role", Value: "read"}, {Key: "db", Value: "local"}}}

// statusNumbers are the fields of serverStatus that monitoring programs read. Some replies contain serverStatus below
// a path, which prefixed adds.
const statusNumbers = "uptime uptimeMillis uptimeEstimate localTime pid " +
	"asserts.regular asserts.warning asserts.msg asserts.user asserts.rollovers " +
	"connections.current connections.available connections.totalCreated connections.active " +
	"extra_info.page_faults " +
	"globalLock.totalTime globalLock.currentQueue.total globalLock.currentQueue.readers globalLock.currentQueue.writers " +
	"globalLock.activeClients.total globalLock.activeClients.readers globalLock.activeClients.writers " +
	"mem.bits mem.resident mem.virtual " +
	"metrics.cursor.timedOut metrics.cursor.open.total metrics.cursor.open.pinned metrics.cursor.open.noTimeout " +
	"metrics.document.deleted metrics.document.inserted metrics.document.returned metrics.document.updated " +
	"metrics.operation.writeConflicts metrics.queryExecutor.scannedObjects metrics.ttl.deletedDocuments metrics.ttl.passes " +
	"network.bytesIn network.bytesOut network.numRequests " +
	"opLatencies.reads.latency opLatencies.reads.ops opLatencies.writes.latency opLatencies.writes.ops " +
	"opLatencies.commands.latency opLatencies.commands.ops " +
	"opcounters.insert opcounters.query opcounters.update opcounters.delete opcounters.getmore opcounters.command " +
	"opcountersRepl.insert transactions.currentActive transactions.currentInactive transactions.currentOpen " +
	"transactions.totalStarted transactions.totalCommitted transactions.totalAborted " +
	"wiredTiger.cache.tracked_dirty_bytes_in_the_cache wiredTiger.cache.bytes_currently_in_the_cache " +
	"wiredTiger.cache.maximum_bytes_configured wiredTiger.transaction.transaction_checkpoints " +
	"wiredTiger.concurrentTransactions.read.out wiredTiger.concurrentTransactions.write.out " +
	"wiredTiger.concurrentTransactions.read.available wiredTiger.concurrentTransactions.write.totalTickets"

const replStatus = "set myState term members.0._id members.0.name members.0.health members.0.state members.0.stateStr members.0.uptime " +
	"members.0.optime.ts members.0.optimeDate members.0.electionTime members.0.electionDate members.0.configVersion " +
	"optimes.lastCommittedOpTime.ts optimes.appliedOpTime.ts optimes.durableOpTime.ts"

// exporter are the commands that mongodb_exporter sends with all its collectors.
// Observed: percona/mongodb_exporter 0.51 against this server, with and without --compatible-mode.
var exporter = []toolCommand{
	{db: "admin", command: `{isMaster: 1}`, others: "ismaster msg", on: router},
	{db: "admin", command: `{isMaster: 1}`, others: "ismaster setName hosts me", on: member},
	{db: "admin", command: `{buildInfo: 1}`, others: "version gitVersion modules openssl"},
	{db: "admin", command: `{getCmdLineOpts: "1"}`, others: "argv parsed"},
	{db: "admin", command: `{getDiagnosticData: "1"}`, others: "data.serverStatus.host data.serverStatus.version data.serverStatus.storageEngine.name",
		numbers: "data.start data.end data.serverStatus.start data.serverStatus.end data.systemMetrics.start " + prefixed("data.serverStatus.", statusNumbers)},
	{db: "admin", command: `{getDiagnosticData: 1}`, others: prefixed("data.replSetGetStatus.", replStatus), numbers: "data.replSetGetStatus.start", on: member},
	{db: "admin", command: `{replSetGetStatus: 1}`, others: replStatus, on: member},
	{db: "admin", command: `{replSetGetConfig: 1}`, on: member, others: "config._id config.settings.replicaSetId config.members.0.host config.members.0.priority",
		numbers: "config.version config.members.0.votes config.settings.heartbeatIntervalMillis"},
	{db: "admin", command: `{getParameter: 1, featureCompatibilityVersion: 1}`, others: "featureCompatibilityVersion.version"},
	{db: "admin", command: `{listDatabases: 1, nameOnly: true, authorizedDatabases: true}`, others: "databases.0.name"},
	{db: "shop", command: `{listCollections: 1, nameOnly: true, authorizedCollections: true, filter: {type: {$ne: "view"}}}`, others: "cursor.firstBatch.0.name"},
	{db: "shop", command: `{dbStats: 1, scale: 1, freeStorage: 1}`, others: "db", numbers: "collections views objects avgObjSize dataSize storageSize indexes indexSize totalSize scaleFactor fsUsedSize fsTotalSize freeStorageSize totalFreeStorageSize"},
	{db: "shop", command: `{aggregate: "orders", cursor: {}, pipeline: [{$collStats: {latencyStats: {histograms: true}, storageStats: {scale: 1}}}]}`, others: "cursor.firstBatch.0.ns",
		numbers: "cursor.firstBatch.0.storageStats.size cursor.firstBatch.0.storageStats.count cursor.firstBatch.0.storageStats.avgObjSize " +
			"cursor.firstBatch.0.storageStats.storageSize cursor.firstBatch.0.storageStats.totalIndexSize cursor.firstBatch.0.storageStats.indexSizes._id_ " +
			"cursor.firstBatch.0.latencyStats.reads.latency cursor.firstBatch.0.latencyStats.writes.ops cursor.firstBatch.0.latencyStats.commands.ops"},
	{db: "shop", command: `{aggregate: "orders", cursor: {}, pipeline: [{$indexStats: {}}]}`, others: "cursor.firstBatch.0.name cursor.firstBatch.0.key",
		numbers: "cursor.firstBatch.0.accesses.ops cursor.firstBatch.0.accesses.since"},
	{db: "admin", command: `{currentOp: true, microsecs_running: {$gte: 300000}}`, others: "inprog"},
	{db: "admin", command: `{top: "1"}`, numbers: prefixed("totals.shop:orders.", "total.time total.count readLock.time writeLock.count queries.count getmore.time insert.count update.count remove.count commands.count")},
	{db: "admin", command: `{balancerStatus: 1}`, others: "mode inBalancerRound", on: router},
	{db: "config", command: `{find: "version"}`, others: "cursor.firstBatch.0.clusterId", on: router},
	{db: "config", command: `{find: "collections", filter: {_id: {$regex: "^shop.", $options: "i"}}}`, others: "cursor.firstBatch.0._id cursor.firstBatch.0.uuid", on: router},
	{db: "config", command: `{aggregate: "chunks", cursor: {}, pipeline: [{$group: {_id: "$shard", count: {$sum: 1}}}]}`, others: "cursor.firstBatch.0._id", on: router},
	{db: "config", command: `{aggregate: "shards", cursor: {}, pipeline: [{$match: {}}, {$group: {_id: 1, n: {$sum: 1}}}]}`, numbers: "cursor.firstBatch.0.n", on: router},
	{db: "config", command: `{aggregate: "changelog", cursor: {}, pipeline: [{$match: {time: {$gt: {$date: "2020-01-01T00:00:00Z"}}}}, {$group: {_id: {event: "$what", note: "$details.note"}, count: {$sum: 1}}}]}`, others: "cursor.firstBatch", on: router},
	{db: "config", command: `{find: "settings", filter: {_id: "balancer"}}`, others: "cursor.firstBatch", on: router},
	{db: "local", command: `{find: "oplog.rs", sort: {$natural: -1}, limit: 1, singleBatch: true}`, others: "cursor.firstBatch.0.ts", on: member},
	{db: "local", command: `{find: "oplog.rs", sort: {$natural: 1}, limit: 1, singleBatch: true}`, others: "cursor.firstBatch.0.ts", on: member},
}

// statistics are the commands of mongostat and mongotop. Source: mongo-tools 100.18.
var statistics = []toolCommand{
	{db: "admin", command: `{serverStatus: 1, recordStats: 0}`, others: "host version process storageEngine.name mem.supported", numbers: statusNumbers},
	{db: "admin", command: `{serverStatus: 1, recordStats: 0}`, others: "repl.setName repl.ismaster repl.secondary repl.hosts repl.me", on: member},
	{db: "config", command: `{find: "shards"}`, others: "cursor.firstBatch.0._id cursor.firstBatch.0.host", on: router}, // --discover
	{db: "admin", command: `{top: 1}`, others: "totals.note", numbers: prefixed("totals.shop:orders.", "total.time readLock.time writeLock.time total.count readLock.count writeLock.count")},
}

func TestMonitoring(t *testing.T) {
	for _, variant := range []string{router, member} {
		t.Run(variant, func(t *testing.T) {
			_, watcher := start(t, variant, watching)
			each(t, variant, watcher, exporter)
			each(t, variant, watcher, statistics)
		})
	}
}

// TestStatusCounts checks that the counters of serverStatus, read before and after some operations, differ by those
// operations.
func TestStatusCounts(t *testing.T) {
	root, watcher := start(t, member, watching)
	look := func() bson.Raw {
		t.Helper()
		reply, err := run(t.Context(), watcher, "admin", `{getDiagnosticData: 1}`)
		bsontest.Must(t, err)
		return reply
	}
	before := look()
	orders := root.Database("shop").Collection("orders")
	_, err := orders.InsertMany(t.Context(), []any{bson.D{{Key: "_id", Value: 1000}}, bson.D{{Key: "_id", Value: 1001}}, bson.D{{Key: "_id", Value: 1002}}})
	bsontest.Must(t, err)
	_, err = orders.UpdateOne(t.Context(), bson.D{{Key: "_id", Value: 1}}, bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: 1}}}})
	bsontest.Must(t, err)
	_, err = orders.DeleteOne(t.Context(), bson.D{{Key: "_id", Value: 1002}})
	bsontest.Must(t, err)
	cursor, err := orders.Find(t.Context(), bson.D{{Key: "customer", Value: 3}})
	bsontest.Must(t, err)
	var found []bson.Raw
	bsontest.Must(t, cursor.All(t.Context(), &found))
	session, err := root.StartSession()
	bsontest.Must(t, err)
	defer session.EndSession(t.Context())
	ctx := mongo.NewSessionContext(t.Context(), session)
	bsontest.Must(t, session.StartTransaction())
	_, err = orders.InsertOne(ctx, bson.D{{Key: "_id", Value: 2000}})
	bsontest.Must(t, err)
	reply := look()
	if n, _ := number(reply.Lookup("data", "serverStatus", "transactions", "currentOpen")); n != 1 {
		t.Errorf("%d open transactions, not 1", n)
	}
	bsontest.Must(t, session.CommitTransaction(t.Context()))
	after := look()
	for path, want := range map[string]int64{
		"opcounters.insert": 4, "opcounters.update": 1, "opcounters.delete": 1, "opcounters.query": 1, "opcounters.getmore": 0,
		"metrics.document.inserted": 4, "metrics.document.returned": int64(len(found)), "metrics.queryExecutor.scannedObjects": int64(len(found)),
		"opLatencies.reads.ops": 1, "opLatencies.writes.ops": 4, "opLatencies.transactions.ops": 1,
		"transactions.totalStarted": 1, "transactions.totalCommitted": 1, "transactions.currentOpen": 0,
		"metrics.commands.insert.total": 2, "metrics.commands.find.failed": 0,
	} {
		path = "data.serverStatus." + path
		x, err := find(before, path)
		bsontest.Must(t, err)
		y, err := find(after, path)
		bsontest.Must(t, err)
		a, _ := number(x)
		b, _ := number(y)
		if b-a != want {
			t.Errorf("%s grew by %d, not %d", path, b-a, want)
		}
	}
	for _, path := range []string{"opLatencies.reads.latency", "opLatencies.writes.latency", "network.bytesIn", "network.bytesOut", "uptimeMillis"} {
		x, _ := find(before, "data.serverStatus."+path)
		y, _ := find(after, "data.serverStatus."+path)
		a, _ := number(x)
		b, _ := number(y)
		if b <= a {
			t.Errorf("%s went from %d to %d", path, a, b)
		}
	}
	if n, _ := number(after.Lookup("data", "serverStatus", "globalLock", "activeClients", "total")); n != 0 {
		t.Errorf("%d active clients on an idle server", n)
	}
}
