package data

import "github.com/cantledb/cantle/wire/command"

// Commands are the commands of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "aggregate", Run: runAggregate, Namespace: command.FirstField, Action: "user", Privileges: aggregatePrivileges,
			Facts: command.InTxn | command.Stable | command.Limited | command.Sampled | command.Settable, Kind: command.KindRead, ReadConcern: command.AnyLevel,
			Query: pipelineQuery, Outputs: pipelineOutputs, Explain: explainPipeline, Doc: "reference/command/aggregate"},
		{Name: "applyOps", Run: runApplyOps, Action: "user", Privileges: applyOpsPrivileges, Facts: command.AdminOnly | command.Writes, Doc: "reference/command/applyOps"},
		{Name: "bulkWrite", Run: runBulkWrite, Namespace: command.SeveralNamespaces, Action: "user", Privileges: bulkWritePrivileges,
			Facts: command.AdminOnly | command.InTxn | command.Writes | command.Retryable | command.Stable, Kind: command.KindWrite,
			Statements: "ops", Since: "8.0", Doc: "reference/command/bulkWrite"},
		{Name: "count", Run: runCount, Namespace: command.FirstField, Action: "find",
			Facts: command.Stable | command.Limited | command.Sampled, Kind: command.KindRead, ReadConcern: command.NotSnapshot,
			Query: unsortedQuery, Explain: explainCount, Doc: "reference/command/count"},
		{Name: "dbHash", Aliases: []string{"dbhash"}, Run: runDBHash, Action: "dbHash",
			Facts: command.Limited, ReadConcern: command.AnyLevel, Doc: "reference/command/dbHash"},
		{Name: "delete", Run: runDelete, Namespace: command.FirstField, Action: "remove",
			Facts: command.InTxn | command.Writes | command.Retryable | command.Stable | command.Sampled, Kind: command.KindWrite, Op: command.OpRemove,
			Statements: "deletes", Query: statementQuery, Explain: explainDelete, Doc: "reference/command/delete"},
		{Name: "distinct", Run: runDistinct, Namespace: command.FirstField, Action: "find",
			Facts: command.InTxn | command.Limited | command.Sampled | command.Settable, Kind: command.KindRead, ReadConcern: command.AnyLevel,
			Query: unsortedQuery, Explain: explainDistinct, Doc: "reference/command/distinct"},
		{Name: "find", Run: runFind, Namespace: command.FirstField, Action: "find",
			Facts: command.InTxn | command.Stable | command.Limited | command.Sampled | command.Settable, Kind: command.KindRead, Op: command.OpQuery, ReadConcern: command.AnyLevel,
			Query: findQuery, Explain: explainFind, Doc: "reference/command/find"},
		{Name: "findAndModify", Aliases: []string{"findandmodify"}, Run: runFindAndModify, Namespace: command.FirstField, Action: "user", Privileges: findAndModifyPrivileges,
			Facts: command.InTxn | command.Writes | command.Retryable | command.Stable | command.Sampled, Kind: command.KindWrite,
			Query: sortedQuery, Explain: explainFindAndModify, Doc: "reference/command/findAndModify"},
		{Name: "getFreeMonitoringStatus", Run: runFreeMonitoring, Action: "checkFreeMonitoringStatus", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/getFreeMonitoringStatus"},
		{Name: "getLastError", Aliases: []string{"getlasterror"}, Run: runGetLastError, Action: "user", Facts: command.Silent, Doc: "reference/command/getLastError"},
		{Name: "getLastRequestStatistics", Run: runLastRequestStatistics, Action: "user", Facts: command.Silent, Doc: "cosmos"},
		{Name: "getMore", Run: runGetMore, Namespace: command.CollectionField, Action: "user",
			Facts: command.InTxn | command.Stable, Kind: command.KindRead, Op: command.OpGetMore, Doc: "reference/command/getMore"},
		{Name: "insert", Run: runInsert, Namespace: command.FirstField, Action: "insert", Privileges: bypassPrivileges,
			Facts: command.InTxn | command.Writes | command.Retryable | command.Stable, Kind: command.KindWrite, Op: command.OpInsert,
			Statements: "documents", Doc: "reference/command/insert"},
		{Name: "killCursors", Run: runKillCursors, Namespace: command.FirstField, Action: "user", Facts: command.InTxn | command.NotFirst | command.Stable, Doc: "reference/command/killCursors"},
		{Name: "mapReduce", Aliases: []string{"mapreduce"}, Run: runMapReduce, Namespace: command.FirstField, Action: "find", Privileges: mapReducePrivileges,
			Kind: command.KindRead, ReadConcern: command.NotSnapshot,
			Query: sortedQuery, Outputs: mapReduceOutputs, Doc: "reference/command/mapReduce"},
		{Name: "update", Run: runUpdate, Namespace: command.FirstField, Action: "update", Privileges: updatePrivileges,
			Facts: command.InTxn | command.Writes | command.Retryable | command.Stable | command.Sampled, Kind: command.KindWrite, Op: command.OpUpdate,
			Statements: "updates", Query: statementQuery, Explain: explainUpdate, Doc: "reference/command/update"},
	}
}
