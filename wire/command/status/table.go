package status

import "github.com/cantledb/cantle/wire/command"

// Commands returns the rows of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "autoCompact", Run: s.runAutoCompact, Action: "user", Also: []command.Need{{Action: "compact"}}, Facts: command.AdminOnly | command.Silent, Since: "8.0", Doc: "reference/command/autoCompact"},
		{Name: "buildInfo", Aliases: []string{"buildinfo"}, Run: runBuildInfo, Facts: command.InTxn | command.NotFirst | command.Silent, Doc: "reference/command/buildInfo"},
		{Name: "compactStructuredEncryptionData", Run: runCompactEncrypted, Namespace: command.FirstField, Action: "compactStructuredEncryptionData", Facts: command.Silent, Doc: "reference/command/compactStructuredEncryptionData"},
		{Name: "connPoolStats", Run: runConnPoolStats, Action: "connPoolStats", Facts: command.Silent, Doc: "reference/command/connPoolStats"},
		{Name: "currentOp", Parse: s.parseCurrentOp, Action: "user", ArgumentActions: []string{"inprog"}, Facts: command.AdminOnly | command.Silent, Doc: "reference/command/currentOp"},
		{Name: "dropConnections", Run: runDropConnections, Action: "dropConnections", Facts: command.AdminOnly | command.Silent, Since: "4.2", Doc: "reference/command/dropConnections"},
		{Name: "features", Run: runFeatures, Facts: command.Silent, Doc: "reference/command/features"},
		{Name: "fsync", Run: s.runFsync, Action: "fsync", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/fsync"},
		{Name: "fsyncUnlock", Run: s.runFsyncUnlock, Action: "unlock", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/fsyncUnlock"},
		{Name: "getCmdLineOpts", Run: s.runGetCmdLineOpts, Action: "getCmdLineOpts", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/getCmdLineOpts"},
		{Name: "getDiagnosticData", Run: s.runGetDiagnosticData, Action: "serverStatus", Also: []command.Need{{Action: "replSetGetStatus"}}, Facts: command.AdminOnly | command.Silent, Doc: "administration/analyzing-mongodb-performance"},
		{Name: "getLog", Run: s.runGetLog, Action: "getLog", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/getLog"},
		{Name: "hello", Run: s.runHello, Facts: command.InTxn | command.NotFirst | command.Stable | command.Silent, Since: "5.0", Doc: "reference/command/hello"},
		{Name: "hostInfo", Aliases: []string{"hostinfo"}, Run: runHostInfo, Action: "hostInfo", Facts: command.Silent, Doc: "reference/command/hostInfo"},
		{Name: "isMaster", Aliases: []string{"ismaster"}, Run: s.runHello, Facts: command.InTxn | command.NotFirst | command.Silent, Doc: "reference/command/isMaster"},
		{Name: "isdbgrid", Run: runIsDBGrid, Facts: command.Silent, Doc: "reference/command/isdbgrid"},
		{Name: "killOp", Parse: parseKillOp, Action: "user", ArgumentActions: []string{"killop"}, Facts: command.AdminOnly | command.Silent, Doc: "reference/command/killOp"},
		{Name: "listCommands", Run: runListCommands, Facts: command.Silent, Doc: "reference/command/listCommands"},
		{Name: "lockInfo", Run: s.runLockInfo, Action: "serverStatus", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/lockInfo"},
		{Name: "logRotate", Run: runLogRotate, Action: "logRotate", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/logRotate"},
		{Name: "ping", Run: runPing, Facts: command.Stable | command.Silent, Doc: "reference/command/ping"},
		{Name: "profile", Parse: s.parseProfile, Action: "user", ArgumentActions: []string{"enableProfiler", "find"}, Facts: command.Silent, Doc: "reference/command/profile"},
		{Name: "replSetGetConfig", Run: runReplSetGetConfig, Action: "replSetGetConfig", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/replSetGetConfig"},
		{Name: "replSetGetStatus", Run: runReplSetGetStatus, Action: "replSetGetStatus", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/replSetGetStatus"},
		{Name: "replSetInitiate", Run: runReplSetInitiate, Action: "replSetConfigure", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/replSetInitiate"},
		{Name: "replSetReconfig", Run: runReplSetReconfig, Action: "replSetConfigure", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/replSetReconfig"},
		{Name: "replSetStepDown", Run: runReplSetStepDown, Action: "replSetStateChange", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/replSetStepDown"},
		{Name: "replSetStepUp", Run: runReplSetStepUp, Action: "replSetStateChange", Facts: command.AdminOnly | command.Silent, Doc: "core/replica-set-elections"},
		{Name: "serverStatus", Run: s.runServerStatus, Action: "serverStatus", Facts: command.Silent, Doc: "reference/command/serverStatus"},
		{Name: "setUserWriteBlockMode", Run: s.runSetUserWriteBlockMode, Action: "setUserWriteBlockMode", Facts: command.AdminOnly | command.Silent, Since: "6.0", Doc: "reference/command/setUserWriteBlockMode"},
		{Name: "shutdown", Run: s.runShutdown, Action: "shutdown", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/shutdown"},
		{Name: "testVersion2", Run: runTestVersion2, Action: "user", Facts: command.Silent, Doc: "reference/stable-api"},
		{Name: "top", Run: s.runTop, Action: "top", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/top"},
	}
}
