package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// options are options that the commands of a file accept without effect, or refuse, with the reason.
type options struct {
	file     string // below wire/command
	commands string
	names    string // separated by spaces
	why      string
	// text is a part of the error in the file by which the options are refused, "" for options without effect.
	text string
}

// withoutEffect are the options of commands that are read and have no effect. A test compares them with the rows of
// arguments in the code: those without a destination, and those that are ignored.
var withoutEffect = []options{
	{file: "data/aggregate.go", commands: "aggregate", names: "fromMongos fromRouter needsMerge exchange isMapReduceCommand requestResumeToken", why: "messages from a mongos to its shards: there are no shards behind this server"},
	{file: "data/aggregate.go", commands: "aggregate", names: "allowPartialResults", why: "a read of several partitions is complete or an error"},
	{file: "data/aggregate.go", commands: "aggregate", names: "includeQueryStatsMetrics", why: "a message from a mongos to its shards: `$queryStats` has the metrics"},
	{file: "data/applyops.go", commands: "applyOps", names: "allowAtomic count oplogApplicationMode", why: "entries are applied one after the other"},
	{file: "data/bulkwrite.go", commands: "bulkWrite", names: "bypassEmptyTsReplacement", why: "a message from a mongos to its shards"},
	{file: "data/count.go", commands: "count", names: "fields queryMetadata", why: "MongoDB ignores them as well"},
	{file: "data/count.go", commands: "count", names: "includeQueryStatsMetrics", why: "as for `aggregate`"},
	{file: "data/distinct.go", commands: "distinct", names: "includeQueryStatsMetrics", why: "as for `aggregate`"},
	{file: "data/filemd5.go", commands: "filemd5", names: "partialOk", why: "a missing chunk is an error"},
	{file: "data/find.go", commands: "find", names: "allowPartialResults", why: "a read of several partitions is complete or an error"},
	{file: "data/find.go", commands: "find", names: "oplogReplay", why: "MongoDB ignores it as well since 4.4"},
	{file: "data/find.go", commands: "find", names: "requestResumeToken resumeAfter startAt term options", why: "messages between the members of a replica set"},
	{file: "data/find.go", commands: "find", names: "includeQueryStatsMetrics", why: "as for `aggregate`"},
	{file: "data/findandmodify.go", commands: "findAndModify", names: "bypassEmptyTsReplacement sampleId", why: "messages from a mongos to its shards"},
	{file: "data/getmore.go", commands: "getMore", names: "term lastKnownCommittedOpTime", why: "messages between the members of a replica set"},
	{file: "data/getmore.go", commands: "getMore", names: "includeQueryStatsMetrics", why: "as for `aggregate`"},
	{file: "data/insert.go", commands: "insert", names: "bypassEmptyTsReplacement", why: "a message from a mongos to its shards"},
	{file: "data/update.go", commands: "update", names: "bypassEmptyTsReplacement", why: "a message from a mongos to its shards"},
	{file: "data/mapreduce.go", commands: "mapReduce", names: "jsMode verbose", why: "MongoDB ignores them as well since 4.4"},
	{file: "access/usersinfo.go", commands: "usersInfo", names: "authenticatedMechanism", why: "users of all mechanisms are stored in the same place"},
	{file: "schema/checkmetadataconsistency.go", commands: "checkMetadataConsistency", names: "checkIndexes", why: "there is one catalog, and no copy of it to compare with"},
	{file: "schema/collmod.go", commands: "collMod", names: "isTimeseriesNamespace", why: "messages from a mongos to its shards"},
	{file: "schema/collstats.go", commands: "collStats, dbStats", names: "verbose waitForLock numericOnly", why: "the reply always has the same fields, and no lock is needed"},
	{file: "schema/compact.go", commands: "compact", names: "force", why: "the command never blocks a member"},
	{file: "schema/create_encrypted.go", commands: "create", names: "escCollection eccCollection ecocCollection strEncodeVersion", why: "there are no queries of encrypted fields"},
	{file: "schema/create_options.go", commands: "create", names: "flags temp recordIdsReplicated", why: "internals of mongod's storage"},
	{file: "schema/indexes.go", commands: "createIndexes", names: "background", why: "every index is built while writes go on; MongoDB ignores it as well since 4.2"},
	{file: "schema/indexes.go", commands: "createIndexes", names: "ignoreUnknownIndexOptions returnOnStart v", why: "old tools and members of a replica set send them"},
	{file: "schema/indexes.go", commands: "createIndexes, dropIndexes, listIndexes", names: "isTimeseriesNamespace", why: "messages from a mongos to its shards"},
	{file: "schema/listcollections.go", commands: "listCollections", names: "includePendingDrops", why: "a dropped collection is gone at once"},
	{file: "schema/renamecollection.go", commands: "renameCollection", names: "stayTemp", why: "there are no temporary collections"},
	{file: "schema/validatedbmetadata.go", commands: "validateDBMetadata", names: "deprecationErrors", why: "version 1 of the stable API deprecates nothing"},
	{file: "plans/querysettings_args.go", commands: "setQuerySettings", names: "serialization_context", why: "a message from a mongos to its shards"},
	{file: "settings/request_caps.go", commands: "setClusterParameter", names: "_id clusterParameterTime", why: "`getClusterParameter` returns them with a value, which can be set again; MongoDB ignores them as well"},
	{file: "settings/setfcv.go", commands: "setFeatureCompatibilityVersion", names: "fromConfigServer phase changeTimestamp downgradeOnDiskChanges", why: "the change has no phases: there is one server, and its files do not change"},
	{file: "shards/balancer.go", commands: "balancerStart, balancerStop", names: "maxTimeMS", why: "the balancer stops at once"},
	{file: "shards/configurebalancing.go", commands: "configureCollectionBalancing", names: "defragmentCollection", why: "partitions are not fragmented; `merge-partitions` merges small ones"},
	{file: "shards/enablesharding.go", commands: "enableSharding", names: "primaryShard", why: "all partitions lie on this server"},
	{file: "shards/mergechunks.go", commands: "mergeAllChunksOnShard", names: "maxNumberOfChunksToMerge maxTimeProcessingChunksMS", why: "a merge copies nothing"},
	{file: "shards/refineshardkey.go", commands: "refineCollectionShardKey", names: "enforceUniquenessCheck", why: "the check is always done"},
	{file: "shards/shardcollection.go", commands: "shardCollection", names: "enforceUniquenessCheck implicitlyCreateIndex unsplittable", why: "the check is always done, and the index is created"},
	{file: "shards/splitvector.go", commands: "splitVector", names: "keyPattern min max maxChunkSize maxChunkSizeBytes maxSplitPoints maxChunkObjects force", why: "the reply has the borders of the partitions: the server splits by itself"},
	{file: "status/compactencrypted.go", commands: "compactStructuredEncryptionData", names: "encryptionInformation anchorPaddingFactor", why: "there are no queries of encrypted fields"},
	{file: "status/features.go", commands: "features", names: "oidReset", why: "nothing needs it since MongoDB 2.0"},
	{file: "status/locks.go", commands: "lockInfo", names: "includeStorageEngineDump", why: "another storage engine"},
	{file: "status/shutdown.go", commands: "shutdown", names: "force timeoutSecs", why: "there is no other member to wait for; `--drain` is the time for running commands"},
}

// refusedOptions are the options that MongoDB accepts and this server refuses.
var refusedOptions = []options{
	{file: "schema/create_encrypted.go", commands: "create", names: "encryptedFields.fields.queries", why: "queries of encrypted fields are not implemented", text: `"queries of encrypted fields"`},
	{file: "shards/shardcollection.go", commands: "shardCollection", names: "timeseries", why: "sharding of time-series collections is not implemented", text: `"option timeseries of shardCollection"`},
	{file: "shards/configurebalancing.go", commands: "configureCollectionBalancing", names: "chunkSize", why: "all partitions of the server split at the same size (`--partition-size`)", text: "a chunkSize of one collection is not supported"},
	{file: "schema/create_options.go", commands: "create", names: "autoIndexId", why: "`false` is refused, by MongoDB as well outside of `local`: each collection has an index on `_id`", text: "autoIndexId: false is not supported"},
}

// rowWithoutDestination finds the rows of arguments whose value is stored nowhere. Rows that a method such as Given or
// Check reads are left out.
var rowWithoutDestination = regexp.MustCompile(`arguments\.[A-Z][A-Za-z]*\("([A-Za-z._]+)", nil(?:, "[A-Za-z]+")*\)(?:\.(?:Least\(0\)|NotNull\(\)|WithNull\(\)))?(?:,|\)| //|\n)`)

// rowIgnored finds the rows of ignored arguments, and their names.
var rowIgnored = regexp.MustCompile(`arguments\.Ignored\(((?:"[A-Za-z._]+"(?:, )?)+)\)`)

// readBelow are arguments that look ignored, because another function reads them.
var readBelow = map[string]string{"data/insert.go": "documents", "data/bulkwrite.go": "ops nsInfo"}

// optionsWithoutEffect returns the names of the options without effect in the sources of the commands, by file.
func optionsWithoutEffect(root string) (map[string][]string, error) {
	out := map[string][]string{}
	files, err := filepath.Glob(filepath.Join(root, "wire", "command", "*", "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path)
		add := func(option string) {
			if !slices.Contains(strings.Fields(readBelow[name]), option) {
				out[name] = append(out[name], option)
			}
		}
		for _, m := range rowWithoutDestination.FindAllSubmatch(text, -1) {
			add(string(m[1]))
		}
		for _, m := range rowIgnored.FindAllSubmatch(text, -1) {
			for option := range strings.SplitSeq(string(m[1]), ", ") {
				add(strings.Trim(option, `"`))
			}
		}
	}
	return out, nil
}

// renderOptions appends the sections of options.
func renderOptions(b *bytes.Buffer) {
	for _, part := range []struct {
		head string
		rows []options
	}{
		{"## Options that are refused\n\nThe error states the reason. Options that a command does not have are refused with code 40415, as in MongoDB.\n\n", refusedOptions},
		{"## Options without effect\n\nThey are accepted, because drivers, tools or other servers send them, and change nothing.\n\n", withoutEffect},
	} {
		b.WriteString("\n" + part.head + "| command | options | why |\n|---|---|---|\n")
		for _, o := range part.rows {
			fmt.Fprintf(b, "| `%s` | `%s` | %s |\n", strings.ReplaceAll(o.commands, ", ", "`, `"), strings.ReplaceAll(o.names, " ", "`, `"), o.why)
		}
	}
}
