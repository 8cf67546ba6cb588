package data

import (
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/wire/command"
)

// Commands returns the rows of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "aggregate", Parse: parseAggregate, Namespace: command.FirstField, Action: "user", ArgumentActions: []string{"find", "bypassDocumentValidation", "useUUID"},
			Facts: command.InTxn | command.Stable | command.Limited | command.Sampled | command.Settable, Kind: command.KindRead, ReadConcern: command.AnyLevel,
			Query: pipelineQuery, Outputs: pipelineOutputs, Explain: explainPipeline, Stats: command.EveryRelease, Unstable: []string{"collectionUUID", "exchange", "explain"}, Doc: "reference/command/aggregate"},
		{Name: "applyOps", Parse: parseApplyOps, Action: "user", ArgumentActions: []string{"insert", "update", "remove", "appendOplogNote", "useUUID", "forceUUID"}, Facts: command.AdminOnly | command.Writes, Doc: "reference/command/applyOps"},
		{Name: "bulkWrite", Parse: parseBulk, Namespace: command.SeveralNamespaces, Action: "user", ArgumentActions: []string{"insert", "update", "remove", "bypassDocumentValidation"},
			Facts: command.AdminOnly | command.InTxn | command.Writes | command.Retryable | command.Stable | command.FullReply, Kind: command.KindWrite,
			Statements: "ops", Since: "8.0", Doc: "reference/command/bulkWrite"},
		{Name: "count", Run: runCount, Namespace: command.FirstField, Action: "find",
			Facts: command.Stable | command.Limited | command.Sampled, Kind: command.KindRead, ReadConcern: command.NotSnapshot,
			Query: unsortedQuery, Explain: explainCount, Stats: command.Since(release.StatsOfCounts), Doc: "reference/command/count"},
		{Name: "dbHash", Aliases: []string{"dbhash"}, Run: runDBHash, Action: "dbHash",
			Facts: command.Limited | command.InterruptOnDrain, ReadConcern: command.AnyLevel, Doc: "reference/command/dbHash"},
		{Name: "delete", Parse: parseDelete, Namespace: command.FirstField, Action: "remove",
			Facts: command.InTxn | command.Writes | command.Retryable | command.Stable | command.Sampled, Kind: command.KindWrite, Op: command.OpRemove,
			Statements: "deletes", Query: statementQuery, Explain: explainDelete, Stats: command.Since(release.StatsOfWrites), Unstable: []string{"collectionUUID"}, Doc: "reference/command/delete"},
		{Name: "distinct", Run: runDistinct, Namespace: command.FirstField, Action: "find",
			Facts: command.InTxn | command.Limited | command.Sampled | command.Settable, Kind: command.KindRead, ReadConcern: command.AnyLevel,
			Query: unsortedQuery, Explain: explainDistinct, Stats: command.EveryRelease, Doc: "reference/command/distinct"},
		{Name: "filemd5", Run: runFileMD5, Action: "find", Facts: command.AccountOnly, Kind: command.KindRead, Doc: "cosmos"},
		{Name: "find", Run: runFind, Namespace: command.FirstField, Action: "find",
			Facts: command.InTxn | command.Stable | command.Limited | command.Sampled | command.Settable, Kind: command.KindRead, Op: command.OpQuery, ReadConcern: command.AnyLevel,
			Query: findQuery, Explain: explainFind, Stats: command.EveryRelease,
			Unstable: []string{"awaitData", "collectionUUID", "max", "min", "noCursorTimeout", "oplogReplay", "returnKey", "showRecordId", "tailable"},
			Doc:      "reference/command/find"},
		{Name: "findAndModify", Aliases: []string{"findandmodify"}, Parse: parseFindAndModify, Namespace: command.FirstField, Action: "user",
			ArgumentActions: []string{"find", "insert", "update", "remove", "bypassDocumentValidation"},
			Facts:           command.InTxn | command.Writes | command.Retryable | command.Stable | command.Sampled | command.Updates, Kind: command.KindWrite,
			Query: sortedQuery, Explain: explainFindAndModify, Doc: "reference/command/findAndModify"},
		{Name: "getFreeMonitoringStatus", Run: runFreeMonitoring, Action: "checkFreeMonitoringStatus", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/getFreeMonitoringStatus"},
		{Name: "getLastError", Aliases: []string{"getlasterror"}, Run: runGetLastError, Action: "user", Facts: command.Silent, Doc: "reference/command/getLastError"},
		{Name: "getLastRequestStatistics", Run: runLastRequestStatistics, Action: "user", Facts: command.Silent, Doc: "cosmos"},
		{Name: "getMore", Run: s.runGetMore, Namespace: command.CollectionField, Action: "user",
			Facts: command.InTxn | command.Stable, Kind: command.KindRead, Op: command.OpGetMore, Doc: "reference/command/getMore"},
		{Name: "insert", Parse: parseInsert, Namespace: command.FirstField, Action: "insert", ArgumentActions: []string{"bypassDocumentValidation"},
			Facts: command.InTxn | command.Writes | command.Retryable | command.Stable, Kind: command.KindWrite, Op: command.OpInsert,
			Statements: "documents", Stats: command.Since(release.StatsOfWrites), Unstable: []string{"collectionUUID"}, Doc: "reference/command/insert"},
		{Name: "killCursors", Run: runKillCursors, Namespace: command.FirstField, Action: "user", Facts: command.InTxn | command.NotFirst | command.Stable, Doc: "reference/command/killCursors"},
		{Name: "mapReduce", Aliases: []string{"mapreduce"}, Parse: parseMapReduce, Namespace: command.FirstField, Action: "find", ArgumentActions: []string{"insert", "update", "remove", "bypassDocumentValidation"},
			Kind: command.KindRead, ReadConcern: command.NotSnapshot,
			Query: sortedQuery, Outputs: mapReduceOutputs, Explain: explainMapReduce, Doc: "reference/command/mapReduce"},
		{Name: "releaseMemory", Run: runReleaseMemory, Action: "user", Facts: command.InTxn | command.NotFirst, Since: "8.2", Doc: "reference/command/killCursors"},
		{Name: "update", Parse: parseUpdate, Namespace: command.FirstField, Action: "update", ArgumentActions: []string{"insert", "bypassDocumentValidation"},
			Facts: command.InTxn | command.Writes | command.Retryable | command.Stable | command.Sampled | command.Updates, Kind: command.KindWrite, Op: command.OpUpdate,
			Statements: "updates", Query: statementQuery, Explain: explainUpdate, Stats: command.Since(release.StatsOfWrites), Unstable: []string{"collectionUUID"}, Doc: "reference/command/update"},
	}
}
