package auth

import "slices"

// Action is an operation that a privilege allows.
// Manual: reference/privilege-actions.
type Action uint8

// The actions, in the alphabetical order of their names.
const (
	AddShard Action = iota
	AnalyzeShardKey
	AppendOplogNote
	ApplicationMessage
	ApplyOps
	AuthSchemaUpgrade
	BypassDocumentValidation
	BypassWriteBlockingMode
	ChangeCustomData
	ChangeOwnCustomData
	ChangeOwnPassword
	ChangePassword
	ChangeStream
	CheckFreeMonitoringStatus
	CheckMetadataConsistency
	CleanupOrphaned
	ClearJumboFlag
	CloseAllDatabases
	CollMod
	CollStats
	Compact
	CompactStructuredEncryptionData
	ConfigureQueryAnalyzer
	ConnPoolStats
	ConnPoolSync
	ConvertToCapped
	CpuProfiler
	CreateCollection
	CreateIndex
	CreateRole
	CreateSearchIndexes
	CreateUser
	DbHash
	DbStats
	DropCollection
	DropConnections
	DropDatabase
	DropIndex
	DropRole
	DropSearchIndex
	DropUser
	EnableProfiler
	EnableSharding
	Find
	FlushRouterConfig
	ForceUUID
	Fsync
	GetClusterParameter
	GetCmdLineOpts
	GetDefaultRWConcern
	GetLog
	GetParameter
	GetShardMap
	GetShardVersion
	GrantRole
	HostInfo
	Impersonate
	IndexStats
	Inprog
	Insert
	Internal
	InvalidateUserCache
	IssueDirectShardOperations
	KillAnyCursor
	KillAnySession
	KillCursors
	Killop
	ListCachedAndActiveUsers
	ListClusterCatalog
	ListCollections
	ListDatabases
	ListIndexes
	ListSampledQueries
	ListSearchIndexes
	ListSessions
	ListShards
	LogRotate
	MoveChunk
	MoveCollection
	Netstat
	OidReset
	OperationMetrics
	PlanCacheIndexFilter
	PlanCacheRead
	PlanCacheWrite
	QuerySettings
	QueryStatsRead
	QueryStatsReadTransformed
	ReIndex
	RefineCollectionShardKey
	ReleaseMemoryAnyCursor
	Remove
	RemoveShard
	RenameCollectionSameDB
	ReplSetConfigure
	ReplSetGetConfig
	ReplSetGetStatus
	ReplSetHeartbeat
	ReplSetReconfig
	ReplSetResizeOplog
	ReplSetStateChange
	ReshardCollection
	Resync
	RevokeRole
	RotateCertificates
	ServerStatus
	SetAuthenticationRestriction
	SetClusterParameter
	SetDefaultRWConcern
	SetFeatureCompatibilityVersion
	SetFreeMonitoring
	SetParameter
	SetThroughput
	SetUserWriteBlockMode
	ShardedDataDistribution
	ShardingState
	Shutdown
	SplitChunk
	SplitVector
	StorageDetails
	Top
	Touch
	TransitionFromDedicatedConfigServer
	TransitionToDedicatedConfigServer
	Unlock
	UnshardCollection
	Update
	UpdateSearchIndex
	UseUUID
	Validate
	ViewRole
	ViewUser

	actionCount = iota
)

// actionNames are the actions' names in documents.
var actionNames = [actionCount]string{
	AddShard:                            "addShard",
	AnalyzeShardKey:                     "analyzeShardKey",
	AppendOplogNote:                     "appendOplogNote",
	ApplicationMessage:                  "applicationMessage",
	ApplyOps:                            "applyOps",
	AuthSchemaUpgrade:                   "authSchemaUpgrade",
	BypassDocumentValidation:            "bypassDocumentValidation",
	BypassWriteBlockingMode:             "bypassWriteBlockingMode",
	ChangeCustomData:                    "changeCustomData",
	ChangeOwnCustomData:                 "changeOwnCustomData",
	ChangeOwnPassword:                   "changeOwnPassword",
	ChangePassword:                      "changePassword",
	ChangeStream:                        "changeStream",
	CheckFreeMonitoringStatus:           "checkFreeMonitoringStatus",
	CheckMetadataConsistency:            "checkMetadataConsistency",
	CleanupOrphaned:                     "cleanupOrphaned",
	ClearJumboFlag:                      "clearJumboFlag",
	CloseAllDatabases:                   "closeAllDatabases",
	CollMod:                             "collMod",
	CollStats:                           "collStats",
	Compact:                             "compact",
	CompactStructuredEncryptionData:     "compactStructuredEncryptionData",
	ConfigureQueryAnalyzer:              "configureQueryAnalyzer",
	ConnPoolStats:                       "connPoolStats",
	ConnPoolSync:                        "connPoolSync",
	ConvertToCapped:                     "convertToCapped",
	CpuProfiler:                         "cpuProfiler",
	CreateCollection:                    "createCollection",
	CreateIndex:                         "createIndex",
	CreateRole:                          "createRole",
	CreateSearchIndexes:                 "createSearchIndexes",
	CreateUser:                          "createUser",
	DbHash:                              "dbHash",
	DbStats:                             "dbStats",
	DropCollection:                      "dropCollection",
	DropConnections:                     "dropConnections",
	DropDatabase:                        "dropDatabase",
	DropIndex:                           "dropIndex",
	DropRole:                            "dropRole",
	DropSearchIndex:                     "dropSearchIndex",
	DropUser:                            "dropUser",
	EnableProfiler:                      "enableProfiler",
	EnableSharding:                      "enableSharding",
	Find:                                "find",
	FlushRouterConfig:                   "flushRouterConfig",
	ForceUUID:                           "forceUUID",
	Fsync:                               "fsync",
	GetClusterParameter:                 "getClusterParameter",
	GetCmdLineOpts:                      "getCmdLineOpts",
	GetDefaultRWConcern:                 "getDefaultRWConcern",
	GetLog:                              "getLog",
	GetParameter:                        "getParameter",
	GetShardMap:                         "getShardMap",
	GetShardVersion:                     "getShardVersion",
	GrantRole:                           "grantRole",
	HostInfo:                            "hostInfo",
	Impersonate:                         "impersonate",
	IndexStats:                          "indexStats",
	Inprog:                              "inprog",
	Insert:                              "insert",
	Internal:                            "internal",
	InvalidateUserCache:                 "invalidateUserCache",
	IssueDirectShardOperations:          "issueDirectShardOperations",
	KillAnyCursor:                       "killAnyCursor",
	KillAnySession:                      "killAnySession",
	KillCursors:                         "killCursors",
	Killop:                              "killop",
	ListCachedAndActiveUsers:            "listCachedAndActiveUsers",
	ListClusterCatalog:                  "listClusterCatalog",
	ListCollections:                     "listCollections",
	ListDatabases:                       "listDatabases",
	ListIndexes:                         "listIndexes",
	ListSampledQueries:                  "listSampledQueries",
	ListSearchIndexes:                   "listSearchIndexes",
	ListSessions:                        "listSessions",
	ListShards:                          "listShards",
	LogRotate:                           "logRotate",
	MoveChunk:                           "moveChunk",
	MoveCollection:                      "moveCollection",
	Netstat:                             "netstat",
	OidReset:                            "oidReset",
	OperationMetrics:                    "operationMetrics",
	PlanCacheIndexFilter:                "planCacheIndexFilter",
	PlanCacheRead:                       "planCacheRead",
	PlanCacheWrite:                      "planCacheWrite",
	QuerySettings:                       "querySettings",
	QueryStatsRead:                      "queryStatsRead",
	QueryStatsReadTransformed:           "queryStatsReadTransformed",
	ReIndex:                             "reIndex",
	RefineCollectionShardKey:            "refineCollectionShardKey",
	ReleaseMemoryAnyCursor:              "releaseMemoryAnyCursor",
	Remove:                              "remove",
	RemoveShard:                         "removeShard",
	RenameCollectionSameDB:              "renameCollectionSameDB",
	ReplSetConfigure:                    "replSetConfigure",
	ReplSetGetConfig:                    "replSetGetConfig",
	ReplSetGetStatus:                    "replSetGetStatus",
	ReplSetHeartbeat:                    "replSetHeartbeat",
	ReplSetReconfig:                     "replSetReconfig",
	ReplSetResizeOplog:                  "replSetResizeOplog",
	ReplSetStateChange:                  "replSetStateChange",
	ReshardCollection:                   "reshardCollection",
	Resync:                              "resync",
	RevokeRole:                          "revokeRole",
	RotateCertificates:                  "rotateCertificates",
	ServerStatus:                        "serverStatus",
	SetAuthenticationRestriction:        "setAuthenticationRestriction",
	SetClusterParameter:                 "setClusterParameter",
	SetDefaultRWConcern:                 "setDefaultRWConcern",
	SetFeatureCompatibilityVersion:      "setFeatureCompatibilityVersion",
	SetFreeMonitoring:                   "setFreeMonitoring",
	SetParameter:                        "setParameter",
	SetThroughput:                       "setThroughput",
	SetUserWriteBlockMode:               "setUserWriteBlockMode",
	ShardedDataDistribution:             "shardedDataDistribution",
	ShardingState:                       "shardingState",
	Shutdown:                            "shutdown",
	SplitChunk:                          "splitChunk",
	SplitVector:                         "splitVector",
	StorageDetails:                      "storageDetails",
	Top:                                 "top",
	Touch:                               "touch",
	TransitionFromDedicatedConfigServer: "transitionFromDedicatedConfigServer",
	TransitionToDedicatedConfigServer:   "transitionToDedicatedConfigServer",
	Unlock:                              "unlock",
	UnshardCollection:                   "unshardCollection",
	Update:                              "update",
	UpdateSearchIndex:                   "updateSearchIndex",
	UseUUID:                             "useUUID",
	Validate:                            "validate",
	ViewRole:                            "viewRole",
	ViewUser:                            "viewUser",
}

// onCluster holds the actions that are on the cluster as a whole; all other actions are on a database or a
// collection.
var onCluster = MakeActions(
	AddShard, AppendOplogNote, ApplicationMessage, ApplyOps, AuthSchemaUpgrade, BypassWriteBlockingMode, CheckFreeMonitoringStatus,
	CheckMetadataConsistency, CleanupOrphaned, CloseAllDatabases, ConnPoolStats, ConnPoolSync, CpuProfiler,
	DropConnections, FlushRouterConfig, ForceUUID, Fsync, GetClusterParameter, GetCmdLineOpts, GetDefaultRWConcern, GetLog,
	GetParameter, GetShardMap, HostInfo, Impersonate, Inprog, Internal, InvalidateUserCache, IssueDirectShardOperations,
	KillAnyCursor, KillAnySession, Killop, ListCachedAndActiveUsers, ListDatabases, ListSampledQueries, ListSessions, ListShards,
	LogRotate, Netstat, OidReset, OperationMetrics, QuerySettings, QueryStatsRead, QueryStatsReadTransformed, RemoveShard,
	ReplSetConfigure, ReplSetGetConfig, ReplSetGetStatus, ReplSetHeartbeat, ReplSetReconfig, ReplSetResizeOplog, ReplSetStateChange,
	Resync, RotateCertificates, ServerStatus, SetClusterParameter, SetDefaultRWConcern, SetFeatureCompatibilityVersion,
	SetFreeMonitoring, SetParameter, SetUserWriteBlockMode, ShardedDataDistribution, ShardingState, Shutdown, Top, Touch,
	TransitionFromDedicatedConfigServer, TransitionToDedicatedConfigServer, Unlock, UseUUID,
)

// ofAdministrators holds the actions that only roles of the database admin can grant. Otherwise a tenant that
// administers the users of its own database could raise its own limits. Actions on the cluster need no such rule.
var ofAdministrators = MakeActions(SetThroughput)

// OnlyOfAdmin returns the actions of s that only roles of the database admin can grant; roles of other databases do
// not grant them, even with anyAction.
func (s Actions) OnlyOfAdmin() (not Actions) {
	for i := range s {
		not[i] = s[i] & ofAdministrators[i]
	}
	return not
}

// String returns the name of the action.
func (a Action) String() string { return actionNames[a] }

// OfCluster reports whether the action is on the cluster rather than on a database or collection.
func (a Action) OfCluster() bool { return onCluster.Has(a) }

// ActionNamed finds an action by its name.
func ActionNamed(name string) (Action, bool) {
	i, ok := slices.BinarySearch(actionNames[:], name)
	return Action(i), ok
}

// Actions is a set of actions.
type Actions [(actionCount + 63) / 64]uint64

// MakeActions returns the set of some actions.
func MakeActions(list ...Action) (s Actions) {
	for _, a := range list {
		s[a/64] |= 1 << (a % 64)
	}
	return s
}

// AllActions returns the set that the name anyAction stands for.
func AllActions() (s Actions) {
	for a := range Action(actionCount) {
		s[a/64] |= 1 << (a % 64)
	}
	return s
}

// Has reports whether a is in the set.
func (s Actions) Has(a Action) bool { return s[a/64]&(1<<(a%64)) != 0 }

// IsEmpty reports whether the set is empty.
func (s Actions) IsEmpty() bool { return s == Actions{} }

// Union returns the actions in s or t.
func (s Actions) Union(t Actions) Actions {
	for i := range s {
		s[i] |= t[i]
	}
	return s
}

// Minus returns the actions in s and not in t.
func (s Actions) Minus(t Actions) Actions {
	for i := range s {
		s[i] &^= t[i]
	}
	return s
}

// Names returns the names of the actions in alphabetical order; if s contains all actions, the only name is
// anyAction.
func (s Actions) Names() []string {
	if s == AllActions() {
		return []string{anyAction}
	}
	var names []string
	for a := range Action(actionCount) {
		if s.Has(a) {
			names = append(names, a.String())
		}
	}
	return names
}

// anyAction is the name of the full set.
const anyAction = "anyAction"
