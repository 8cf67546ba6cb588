package shards

import "github.com/cantledb/cantle/wire/command"

// Commands are the commands of the room, in alphabetical order.
func (s *State) Commands() []command.Def {
	return []command.Def{
		{Name: "abortMoveCollection", Run: runAbortReshard, Namespace: command.FullName, Action: "moveCollection", Facts: command.AdminOnly, Since: "8.0", Doc: "reference/command/abortMoveCollection"},
		{Name: "abortReshardCollection", Run: runAbortReshard, Namespace: command.FullName, Action: "reshardCollection", Facts: command.AdminOnly, Since: "5.0", Doc: "reference/command/abortReshardCollection"},
		{Name: "abortUnshardCollection", Run: runAbortReshard, Namespace: command.FullName, Action: "unshardCollection", Facts: command.AdminOnly, Since: "8.0", Doc: "reference/command/abortUnshardCollection"},
		{Name: "addShard", Run: runNotSharding, Action: "addShard", Facts: command.AdminOnly | command.Writes, Doc: "reference/command/addShard"},
		{Name: "addShardToZone", Run: s.runAddShardToZone, Action: "enableSharding", Facts: command.AdminOnly | command.Writes, Doc: "reference/command/addShardToZone"},
		{Name: "analyzeShardKey", Run: s.runAnalyzeShardKey, Namespace: command.FullName, Action: "analyzeShardKey", Facts: command.AdminOnly, Since: "7.0", Doc: "reference/command/analyzeShardKey"},
		{Name: "balancerCollectionStatus", Run: runBalancerCollectionStatus, Action: "user", Privileges: readBalancerPrivileges, Facts: command.AdminOnly, Since: "4.4", Doc: "reference/command/balancerCollectionStatus"},
		{Name: "balancerStart", Run: s.runBalancerStart, Action: "user", Privileges: writeBalancerPrivileges, Facts: command.AdminOnly | command.Writes, Doc: "reference/command/balancerStart"},
		{Name: "balancerStatus", Run: s.runBalancerStatus, Action: "user", Privileges: readBalancerPrivileges, Facts: command.AdminOnly, Doc: "reference/command/balancerStatus"},
		{Name: "balancerStop", Run: s.runBalancerStop, Action: "user", Privileges: writeBalancerPrivileges, Facts: command.AdminOnly | command.Writes, Doc: "reference/command/balancerStop"},
		{Name: "cleanupReshardCollection", Run: runCleanupReshard, Namespace: command.FullName, Action: "reshardCollection", Facts: command.AdminOnly, Since: "5.0", Doc: "reference/command/nav-sharding"},
		{Name: "clearJumboFlag", Run: runNotSharding, Action: "clearJumboFlag", Facts: command.AdminOnly, Doc: "reference/command/clearJumboFlag"},
		{Name: "commitReshardCollection", Run: runCommitReshard, Namespace: command.FullName, Action: "reshardCollection", Facts: command.AdminOnly, Since: "5.0", Doc: "reference/command/commitReshardCollection"},
		{Name: "configureQueryAnalyzer", Run: s.runConfigureQueryAnalyzer, Namespace: command.FullName, Action: "configureQueryAnalyzer", Facts: command.AdminOnly | command.Writes, Since: "7.0", Doc: "reference/command/configureQueryAnalyzer"},
		{Name: "customAction", Run: s.runCustomAction, Action: "user", Privileges: customActionPrivileges, Facts: command.Writes | command.Metadata, Doc: "cosmos"},
		{Name: "enableSharding", Aliases: []string{"enablesharding"}, Run: runEnableSharding, Action: "user", Privileges: enableShardingPrivileges, Facts: command.Writes, Doc: "reference/command/enableSharding"},
		{Name: "flushRouterConfig", Aliases: []string{"flushrouterconfig"}, Run: runFlushRouterConfig, Action: "flushRouterConfig", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/flushRouterConfig"},
		{Name: "getShardMap", Run: s.runGetShardMap, Action: "getShardMap", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/getShardMap"},
		{Name: "getShardVersion", Run: runGetShardVersion, Action: "getShardVersion", Facts: command.Silent, Doc: "reference/command/getShardVersion"},
		{Name: "listShards", Run: s.runListShards, Action: "listShards", Facts: command.AdminOnly | command.Silent, Doc: "reference/command/listShards"},
		{Name: "mergeAllChunksOnShard", Run: s.runMergeAllChunksOnShard, Namespace: command.FullName, Action: "moveChunk", Facts: command.AdminOnly, Since: "7.0", Doc: "reference/command/mergeAllChunksOnShard"},
		{Name: "mergeChunks", Run: runMergeChunks, Namespace: command.FullName, Action: "splitChunk", Facts: command.AdminOnly, Doc: "reference/command/mergeChunks"},
		{Name: "moveChunk", Run: s.runMoveChunk, Namespace: command.FullName, Action: "moveChunk", Facts: command.AdminOnly | command.Writes, Doc: "reference/command/moveChunk"},
		{Name: "moveCollection", Run: s.runMoveCollection, Namespace: command.FullName, Action: "moveCollection", Facts: command.AdminOnly | command.Writes, Since: "8.0", Doc: "reference/command/moveCollection"},
		{Name: "movePrimary", Run: runNotSharding, Action: "moveChunk", Facts: command.AdminOnly | command.Writes, Doc: "reference/command/movePrimary"},
		{Name: "moveRange", Run: s.runMoveChunk, Namespace: command.FullName, Action: "moveChunk", Facts: command.AdminOnly | command.Writes, Since: "6.0", Doc: "reference/command/moveRange"},
		{Name: "refineCollectionShardKey", Run: runRefineShardKey, Namespace: command.FullName, Action: "refineCollectionShardKey", Facts: command.AdminOnly | command.Writes, Since: "4.4", Doc: "reference/command/refineCollectionShardKey"},
		{Name: "removeShard", Run: runNotSharding, Action: "removeShard", Facts: command.AdminOnly | command.Writes, Doc: "reference/command/removeShard"},
		{Name: "removeShardFromZone", Run: s.runRemoveShardFromZone, Action: "enableSharding", Facts: command.AdminOnly | command.Writes, Doc: "reference/command/removeShardFromZone"},
		{Name: "reshardCollection", Run: s.runReshardCollection, Namespace: command.FullName, Action: "reshardCollection", Facts: command.AdminOnly | command.Writes, Since: "5.0", Doc: "reference/command/reshardCollection"},
		{Name: "setAllowMigrations", Run: runSetAllowMigrations, Namespace: command.FullName, Action: "enableSharding", Facts: command.AdminOnly | command.Writes, Since: "5.0", Doc: "reference/method/sh.disableMigrations"},
		{Name: "shardCollection", Aliases: []string{"shardcollection"}, Run: s.runShardCollection, Namespace: command.FullName, Action: "enableSharding", Facts: command.Writes | command.Metadata, Doc: "reference/command/shardCollection"},
		{Name: "split", Run: runSplit, Namespace: command.FullName, Action: "splitChunk", Facts: command.AdminOnly, Doc: "reference/command/split"},
		{Name: "splitVector", Run: runSplitVector, Namespace: command.FullName, Action: "splitVector", Doc: "reference/command/splitVector"},
		{Name: "unshardCollection", Run: s.runUnshardCollection, Namespace: command.FullName, Action: "unshardCollection", Facts: command.AdminOnly | command.Writes, Since: "8.0", Doc: "reference/command/unshardCollection"},
		{Name: "updateZoneKeyRange", Run: s.runUpdateZoneKeyRange, Namespace: command.FullName, Action: "enableSharding", Facts: command.AdminOnly | command.Writes, Doc: "reference/command/updateZoneKeyRange"},
	}
}
