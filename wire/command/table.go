package command

// Commands is every command there is, in alphabetical order.
var Commands = []Def{
	{Name: "abortTransaction", Run: runAbort, Action: "find", Needs: AdminOnly | InTxn | Writes, Doc: "reference/command/abortTransaction"},
	{Name: "aggregate", Run: runAggregate, Namespace: FirstField, Action: "find", Needs: InTxn, Doc: "reference/command/aggregate"},
	{Name: "buildInfo", Aliases: []string{"buildinfo"}, Run: runBuildInfo, Needs: Silent, Doc: "reference/command/buildInfo"},
	{Name: "commitTransaction", Run: runCommit, Action: "find", Needs: AdminOnly | InTxn | Writes, Doc: "reference/command/commitTransaction"},
	{Name: "configureFailPoint", Run: runConfigureFailPoint, Action: "configureFailPoint", Needs: AdminOnly | Silent, Doc: "reference/parameters"},
	{Name: "count", Run: runCount, Namespace: FirstField, Action: "find", Doc: "reference/command/count"},
	{Name: "delete", Run: runDelete, Namespace: FirstField, Action: "remove", Needs: InTxn | Writes, Doc: "reference/command/delete"},
	{Name: "distinct", Run: runDistinct, Namespace: FirstField, Action: "find", Needs: InTxn, Doc: "reference/command/distinct"},
	{Name: "endSessions", Run: runEndSessions, Needs: Silent, Doc: "reference/command/endSessions"},
	{Name: "find", Run: runFind, Namespace: FirstField, Action: "find", Needs: InTxn, Doc: "reference/command/find"},
	{Name: "findAndModify", Aliases: []string{"findandmodify"}, Run: runFindAndModify, Namespace: FirstField, Action: "update", Needs: InTxn | Writes, Doc: "reference/command/findAndModify"},
	{Name: "getMore", Run: runGetMore, Action: "find", Needs: InTxn, Doc: "reference/command/getMore"},
	{Name: "hello", Run: runHello, Needs: Silent, Doc: "reference/command/hello"},
	{Name: "insert", Run: runInsert, Namespace: FirstField, Action: "insert", Needs: InTxn | Writes, Doc: "reference/command/insert"},
	{Name: "isMaster", Aliases: []string{"ismaster"}, Run: runHello, Needs: Silent, Doc: "reference/command/isMaster"},
	{Name: "killCursors", Run: runKillCursors, Namespace: FirstField, Action: "killCursors", Needs: InTxn, Doc: "reference/command/killCursors"},
	{Name: "ping", Run: runPing, Needs: Silent, Doc: "reference/command/ping"},
	{Name: "update", Run: runUpdate, Namespace: FirstField, Action: "update", Needs: InTxn | Writes, Doc: "reference/command/update"},
}
