package main

import (
	"bytes"
	"fmt"
	"strings"
)

// refusing has the reason for each function that answers every use of a name with an error.
var refusing = map[string]string{
	"agg.parseSearch":                   "there is no search engine beside the server; `$text` and regular expressions search",
	"data.runGetLastError":              "MongoDB refuses it as well since 5.1: drivers send write concerns instead",
	"schema.runSearchIndexes":           "there is no search engine beside the server; create a text index",
	"shards.runNotSharding":             "all partitions lie on this server: there is no other shard",
	"shards.(*State).runDrainShard-fm":  "all partitions lie on this server: there is no other shard to drain to",
	"shards.(*State).runNotDraining-fm": "no shard is ever being drained",
}

// absence is a group of names of MongoDB that this server does not have, with the reason.
type absence struct {
	table string // the title of the table in which they would be
	names []string
	why   string
}

// absences are the names in MongoDB's manual that no table of the server has. A test fails if a table gets one.
var absences = []absence{
	{"Aggregation stages", []string{"$backupCursor", "$backupCursorExtend"}, "backups are made by the server itself: [backup](backup.md)"},
	{"Aggregation stages", []string{"$rerank"}, "needs models hosted by Atlas"},
	{"Expression operators", []string{"$encStrContains", "$encStrEndsWith", "$encStrNormalizedEq", "$encStrStartsWith"}, "there are no queries of encrypted fields"},
	{"Commands", []string{"appendOplogNote", "replSetAbortPrimaryCatchUp", "replSetFreeze", "replSetMaintenance", "replSetResizeOplog", "replSetSyncFrom"}, "there is one member; `--log-retention` bounds the change log"},
	{"Commands", []string{"checkShardingIndex", "cleanupOrphaned", "medianKey", "setShardVersion", "shardConnPoolStats", "shardingState", "splitChunk", "unsetSharding"}, "commands of a shard's mongod: there are no shards behind this server, and a split moves no document"},
	{"Commands", []string{"getAuditConfig", "logApplicationMessage", "setAuditConfig"}, "there is no audit log"},
	{"Commands", []string{"rotateCertificates"}, "the signal SIGHUP reloads certificates: [security](security.md)"},
	{"Commands", []string{"setIndexCommitQuorum"}, "there is one member"},
	{"Commands", []string{"clone", "copydb", "driverOIDTest", "getPrevError", "netstat", "repairDatabase", "resetError", "setFreeMonitoring"}, "MongoDB has removed them, or uses them internally; `cantle salvage` extracts documents from damaged files"},
}

// difference is a behaviour that differs from MongoDB's although the request is accepted, or a feature that is no
// name in a table.
type difference struct{ what, here, why string }

var differences = []difference{
	{"replication", "one process, unless several share [a TiKV cluster](scale-out.md)", "`replSetInitiate` and its relatives are refused with code 76; `--replica-set rs0` makes the server the primary of a set with one member, as transactions and change streams of tutorials need it. [A second server](backup.md#a-second-server-that-follows) can follow it as a secondary for reads, by its backups, and become the primary by a command (`cantle promote`, `replSetStepUp`)"},
	{"what `hello` shows", "a mongos; with `--replica-set` a primary, with `cantle follow` a secondary", "collections are sharded without a cluster, and the commands for it are those of a mongos"},
	{"write concern", "`w: \"majority\"` and `w: 1` are the same: durable (`--sync`); a `w` above 1 is refused with code 100", "one member"},
	{"read concern, read preference", "all levels and all preferences are accepted, and read the same data", "one copy of the data"},
	{"shards", "[partitions](throughput.md) of one server with a budget each; `moveChunk` and zones exist, documents are never copied", "a partition is a range of the store"},
	{"time-series collections", "not sharded: code 238", "not implemented; one partition stores them in the order of their time"},
	{"buckets of time series", "made of the measurements when they are read, and not compressed; `system.buckets.` names are readable with `--compat 9.0` as well; with `rawData` they are read and inserted, and not updated, deleted (115) or watched (73)", "measurements are stored one by one; older tools read these names"},
	{"`releaseMemory`", "releases what a cursor can read again; results of sorts and groups stay in memory", "sorts and groups spill by themselves, and `--work-memory` bounds all of them"},
	{"encryption in use", "encrypted fields are stored and indexed by drivers with explicit encryption; `encryptedFields` with `queries` is refused with code 238", "not implemented"},
	{"encryption at rest, audit log, LDAP, Kerberos, OpenID", "none; SCRAM and X.509", "[security](security.md#trust-model) lists what the server does not do"},
	{"collations", "all locales; some variants of Chinese, Japanese and Korean are refused by name", "their order would differ: [collations](collations.md)"},
	{"server-side JavaScript", "ECMAScript as goja implements it, with bounded time and memory: [what is there](javascript.md)", "the engine is written in Go"},
	{"storage engine", "Pebble; valid options of WiredTiger are accepted without effect; `serverStatus.wiredTiger` has the numbers that tools read", "another engine"},
	{"server parameters", "a parameter that the server does not have is refused with code 72, as in MongoDB; many are accepted for tools and have no effect", "parameters of WiredTiger and of the internals of mongod have no counterpart"},
	{"plans", "`explain` has MongoDB's form; another index than in MongoDB may be chosen", "another planner; candidates are compared by trials, as in MongoDB"},
	{"`$queryStats`", "in every release, of a sample of 1 % (`internalQueryStatsSampleRate`); without the measurements of processor time, storage reads and tickets; a batch of writes has the shape of its first statement; a change stream is one execution, recorded at its end; each server has its own", "[statistics of queries](monitoring.md#statistics-of-queries); `customAction: \"GetRequestReport\"` has all commands by shape, with their costs"},
	{"order of unsorted results", "that of insertion, also in reverse, except of documents inserted while their collection has 10,000 or more: these are at the place of their `_id`; by hash or key in a sharded collection", "only a place that differs from the order of the `_id` is stored: [natural order](operations.md#natural-order)"},
	{"`hashed` sharding", "another hash: documents lie elsewhere than in a MongoDB cluster", "`convertShardKeyToHashed` of mongosh shows MongoDB's hash"},
	{"legacy opcodes", "OP_MSG, and OP_QUERY of `hello` and logins only, as MongoDB since 5.1; `--cosmos-version` 3.6 to 5.0 accepts more", ""},
	{"transactions over dropped collections", "a transaction at a past snapshot cannot read a collection that was dropped after the snapshot: code 246, and the client tries again", "a drop deletes the documents at once"},
	{"oplog entries of updates", "new fields stand under `u`, as changed ones, and not under `i`", "readers of the oplog treat both alike; an update does not note which fields were there"},
	{"log of slow operations", "JSON with MongoDB's names of fields in `attr`, in a form of its own", "[monitoring](monitoring.md) describes it"},
	{"events of a rename into another database", "streams of the old database have `drop`, those of the new one `rename` from the old name", "the documents are not copied"},
	{"files", "another format: mongod cannot open them, nor this server those of mongod", "[moving in and out](moving.md) by dump and restore"},
}

// differencesHead is the beginning of docs/differences.md.
const differencesHead = `<!-- Generated by scripts/gendocs. DO NOT EDIT. -->

# What differs from MongoDB

What MongoDB has and Cantle refuses, lacks or does in another way, with the reason. The names are compared with the tables by
which the server works; everything that it has is listed in [coverage](../compat-tests/COVERAGE.md), and which behaviours follow
the release chosen by ` + "`--compat`" + ` at [its end](../compat-tests/COVERAGE.md#what-follows-the-release). The Cosmos address differs much
more, as the service does: [features of an account](cosmos-features.md).

A request that this server cannot serve gets an error with a code, and never a wrong answer in silence. If you find one that does,
it is a bug: [report it](https://github.com/cantledb/cantle/issues).

` + "```js" + `
const refused = (f) => { try { f(); return "accepted" } catch (e) { return e.code + " " + e.message } }
refused(() => db.adminCommand({ addShard: "rs1/other:27018" })) // 115 addShard is not supported: all partitions lie on this server
refused(() => db.adminCommand({ netstat: 1 })) // 59 no such command: 'netstat'
refused(() => db.adminCommand({ aggregate: 1, pipeline: [{ $backupCursor: {} }], cursor: {} })) // 40324 Unrecognized pipeline stage name: '$backupCursor'
refused(() => db.items.insertOne({ a: 1 }, { writeConcern: { w: 3 } })) // 100 Not enough data-bearing nodes
refused(() => db.adminCommand({ replSetInitiate: {} })) // 76 This server is not a member of a replica set: it was started without --replica-set
refused(() => db.adminCommand({ shardCollection: "test.series", key: { m: 1 }, timeseries: { timeField: "t", metaField: "m" } })) // 238 option timeseries of shardCollection is not implemented
refused(() => db.items.find().collation({ locale: "zh@collation=unihan" }).toArray()) // 2 The collation of locale 'zh@collation=unihan' is not supported…
db.createCollection("tuned", { storageEngine: { wiredTiger: { configString: "block_compressor=zlib" } } }).ok // 1
` + "```" + `

## Behaviours that differ

| | in Cantle | why |
|---|---|---|
`

// renderDifferences makes docs/differences.md.
func renderDifferences(all []table) []byte {
	b := bytes.NewBufferString(differencesHead)
	for _, d := range differences {
		fmt.Fprintf(b, "| %s | %s | %s |\n", d.what, d.here, d.why)
	}
	b.WriteString("\n## Known, and always refused\n\nThe error states the reason.\n\n| | name | why |\n|---|---|---|\n")
	for _, t := range all {
		for _, r := range t.rows {
			if r.refused != "" {
				fmt.Fprintf(b, "| %s | [`%s`](%s) | %s |\n", t.title, r.name, r.url(), r.refused)
			}
		}
	}
	b.WriteString("\n## Not there\n\nUnknown names are refused: a command with code 59, a stage with 40324, an expression with 168, or with 31325 as a field of a projection.\n\n| | names | why |\n|---|---|---|\n")
	for _, a := range absences {
		fmt.Fprintf(b, "| %s | `%s` | %s |\n", a.table, strings.Join(a.names, "`, `"), a.why)
	}
	renderOptions(b)
	b.WriteString("\n## Only here\n\nCommands that MongoDB does not have, or has no longer; they follow Azure Cosmos DB: [for Cosmos users](cosmos.md).\n\n")
	for _, t := range all {
		for _, r := range t.rows {
			if r.page == "cosmos" {
				fmt.Fprintf(b, "- [`%s`](%s)\n", r.name, r.url())
			}
		}
	}
	return b.Bytes()
}
