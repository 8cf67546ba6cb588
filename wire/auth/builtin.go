package auth

// Builtin is a built-in role.
type Builtin struct {
	Name string
	// Everywhere marks a role that exists in each database and applies to it; the others
	// exist in admin only.
	Everywhere bool
	// Privileges returns the privileges of the role of a database.
	Privileges func(db string) []Privilege
}

// Builtins holds every built-in role, in alphabetical order.
// Manual: reference/built-in-roles.
var Builtins = []Builtin{
	{"__queryableBackup", false, func(string) []Privilege { return backup() }},
	{"__system", false, func(string) []Privilege { return everything() }},
	{"backup", false, func(string) []Privilege { return backup() }},
	{"clusterAdmin", false, func(string) []Privilege { return clusterAdmin() }},
	{"clusterManager", false, func(string) []Privilege { return clusterManager() }},
	{"clusterMonitor", false, func(string) []Privilege { return clusterMonitor() }},
	{"dbAdmin", true, dbAdmin},
	{"dbAdminAnyDatabase", false, func(string) []Privilege { return Merge(dbAdmin(""), listDatabases()) }},
	{"dbOwner", true, func(db string) []Privilege { return Merge(Merge(readWrite(db), dbAdmin(db)), userAdmin(db)) }},
	{"directShardOperations", false, func(string) []Privilege {
		return []Privilege{{Cluster, MakeActions(IssueDirectShardOperations)}}
	}},
	{"enableSharding", true, func(db string) []Privilege { return []Privilege{{in(db, ""), shardingActions}} }},
	{"hostManager", false, func(string) []Privilege { return hostManager() }},
	{"read", true, read},
	{"readAnyDatabase", false, func(string) []Privilege { return Merge(read(""), listDatabases()) }},
	{"readWrite", true, readWrite},
	{"readWriteAnyDatabase", false, func(string) []Privilege { return Merge(readWrite(""), listDatabases()) }},
	{"restore", false, func(string) []Privilege { return restore() }},
	{"root", false, func(string) []Privilege { return root() }},
	{"userAdmin", true, userAdmin},
	{"userAdminAnyDatabase", false, func(string) []Privilege { return userAdminAny() }},
}

// builtinNamed returns the built-in role with the name n, if it exists in the database of n; nil otherwise.
func builtinNamed(n Name) *Builtin {
	for i := range Builtins {
		if b := &Builtins[i]; b.Name == n.Name && (b.Everywhere || n.DB == "admin") {
			return b
		}
	}
	return nil
}

// in returns the resource of a collection, or of a whole database; an empty name means every database or collection.
func in(db, coll string) Resource { return Resource{DB: db, Coll: coll} }

// The actions of the roles that exist in each database.
var (
	readActions = MakeActions(ChangeStream, CollStats, DbHash, DbStats, Find, KillCursors, ListCollections, ListIndexes,
		ListSearchIndexes, PlanCacheRead)
	writeActions = MakeActions(CompactStructuredEncryptionData, ConvertToCapped, CreateCollection, CreateIndex, CreateSearchIndexes, DropCollection, DropIndex,
		DropSearchIndex, Insert, Remove, RenameCollectionSameDB, Update, UpdateSearchIndex)
	dbAdminActions = MakeActions(AnalyzeShardKey, BypassDocumentValidation, CollMod, CollStats, Compact,
		ConfigureQueryAnalyzer, ConvertToCapped, CreateCollection, CreateIndex, CreateSearchIndexes, DbStats, DropCollection, DropDatabase,
		DropIndex, DropSearchIndex, EnableProfiler,
		IndexStats, ListCollections, ListIndexes, ListSearchIndexes, PlanCacheIndexFilter, PlanCacheRead, PlanCacheWrite, ReIndex,
		RenameCollectionSameDB, StorageDetails, UpdateSearchIndex, Validate)
	profileActions = MakeActions(ChangeStream, CollStats, ConvertToCapped, CreateCollection, DbHash, DbStats, DropCollection, Find,
		KillCursors, ListCollections, ListIndexes, PlanCacheRead)
	userAdminActions = MakeActions(ChangeCustomData, ChangePassword, CreateRole, CreateUser, DropRole, DropUser, GrantRole, RevokeRole,
		SetAuthenticationRestriction, ViewRole, ViewUser)
	shardingActions = MakeActions(AnalyzeShardKey, EnableSharding, MoveCollection, RefineCollectionShardKey, ReshardCollection, UnshardCollection)
)

func everything() []Privilege { return []Privilege{{Resource{Kind: OnAny}, AllActions()}} }

func listDatabases() []Privilege { return []Privilege{{Cluster, MakeActions(ListDatabases)}} }

func read(db string) []Privilege {
	return []Privilege{{in(db, ""), readActions}, {in(db, "system.js"), readActions}}
}

func readWrite(db string) []Privilege {
	all := readActions.Union(writeActions)
	return []Privilege{{in(db, ""), all}, {in(db, "system.js"), all}}
}

func dbAdmin(db string) []Privilege {
	return []Privilege{{in(db, ""), dbAdminActions}, {in(db, "system.profile"), profileActions}}
}

func userAdmin(db string) []Privilege { return []Privilege{{in(db, ""), userAdminActions}} }

func userAdminAny() []Privilege {
	stored := MakeActions(CollStats, CreateIndex, DbHash, DbStats, DropIndex, Find, KillCursors, ListIndexes, PlanCacheRead)
	return []Privilege{
		{in("", ""), userAdminActions},
		{Cluster, MakeActions(AuthSchemaUpgrade, InvalidateUserCache, ListDatabases)},
		{in("admin", "system.users"), stored},
		{in("admin", "system.roles"), stored},
		{in("admin", "system.version"), MakeActions(CollStats, DbHash, DbStats, Find, KillCursors, ListIndexes, PlanCacheRead)},
	}
}

func clusterManager() []Privilege {
	system := MakeActions(CollStats, DbHash, DbStats, Find, KillCursors, ListCollections, ListIndexes, PlanCacheRead)
	local := MakeActions(EnableSharding, Insert, MoveChunk, Remove, SplitChunk, SplitVector, Update)
	return []Privilege{
		{Cluster, MakeActions(AddShard, AppendOplogNote, ApplicationMessage, CheckMetadataConsistency, CleanupOrphaned, FlushRouterConfig,
			GetClusterParameter, GetDefaultRWConcern, GetShardMap, ListSampledQueries, ListSessions, ListShards, QuerySettings, RemoveShard,
			ReplSetConfigure, ReplSetGetConfig, ReplSetGetStatus, ReplSetStateChange, Resync, SetClusterParameter, SetDefaultRWConcern,
			SetFeatureCompatibilityVersion, SetFreeMonitoring, TransitionFromDedicatedConfigServer, TransitionToDedicatedConfigServer)},
		{in("", ""), MakeActions(AnalyzeShardKey, ClearJumboFlag, ConfigureQueryAnalyzer, EnableSharding, GetShardVersion, MoveChunk,
			MoveCollection, RefineCollectionShardKey, ReshardCollection, SetThroughput, SplitChunk, SplitVector, UnshardCollection)},
		{in("config", ""), system.Union(MakeActions(EnableSharding, Insert, MoveChunk, Remove, SplitChunk, SplitVector, Update))},
		{in("config", "system.js"), system},
		{in("config", "system.sessions"), MakeActions(CollStats, DbStats, EnableSharding)},
		{in("local", ""), local},
		{in("local", "system.replset"), system},
	}
}

func clusterMonitor() []Privilege {
	system := MakeActions(CollStats, DbHash, DbStats, Find, GetShardVersion, IndexStats, KillCursors, ListCollections, ListIndexes, PlanCacheRead)
	return []Privilege{
		{Cluster, MakeActions(CheckFreeMonitoringStatus, ConnPoolStats, GetClusterParameter, GetCmdLineOpts, GetDefaultRWConcern, GetLog,
			GetParameter, GetShardMap, HostInfo, Inprog, ListDatabases, ListSampledQueries, ListSessions, ListShards, Netstat, OperationMetrics,
			QueryStatsRead, QueryStatsReadTransformed, ReplSetGetConfig, ReplSetGetStatus, ServerStatus, SetFreeMonitoring,
			ShardedDataDistribution, ShardingState, Top, UseUUID)},
		{in("", ""), MakeActions(CollStats, DbStats, GetShardVersion, IndexStats, ListClusterCatalog)},
		{in("", "system.profile"), MakeActions(Find)},
		{in("config", ""), system},
		{in("config", "system.js"), system},
		{in("config", "system.sessions"), MakeActions(CollStats, DbStats, GetShardVersion, IndexStats)},
		{in("local", ""), system},
		{in("local", "system.js"), system},
		{in("local", "system.replset"), MakeActions(Find)},
	}
}

func hostManager() []Privilege {
	return []Privilege{
		{Cluster, MakeActions(ApplicationMessage, CloseAllDatabases, Compact, ConnPoolSync, CpuProfiler, DropConnections, FlushRouterConfig, Fsync,
			InvalidateUserCache, KillAnyCursor, KillAnySession, Killop, LogRotate, OidReset, Resync, RotateCertificates, SetParameter,
			SetUserWriteBlockMode, Shutdown, Touch, Unlock)},
		{in("", ""), MakeActions(KillCursors)},
	}
}

func clusterAdmin() []Privilege {
	all := Merge(Merge(clusterManager(), clusterMonitor()), hostManager())
	return Merge(all, []Privilege{{in("", ""), MakeActions(DropDatabase)}})
}

// systemCollections are the system collections that backup tools copy.
var systemCollections = []Resource{
	in("", "system.js"), in("", "system.profile"), in("", "system.views"),
	in("admin", "system.roles"), in("admin", "system.users"), in("admin", "system.version"),
}

func backup() []Privilege {
	list := []Privilege{
		{Cluster, MakeActions(AppendOplogNote, GetParameter, ListDatabases, ServerStatus, SetUserWriteBlockMode)},
		{Resource{Kind: OnAny}, MakeActions(ListCollections, ListIndexes)},
		{in("", ""), MakeActions(CollStats, Find)},
		{in("config", ""), MakeActions(CollStats, Find)},
		{in("config", "settings"), MakeActions(Find, Insert, Update)},
		{in("local", ""), MakeActions(CollStats, Find)},
		{in("admin", "mms.backup"), MakeActions(Insert, Update)},
		{Resource{Kind: OnBuckets}, MakeActions(CollStats, Find)},
	}
	for _, r := range systemCollections {
		list = append(list, Privilege{r, MakeActions(CollStats, Find)})
	}
	return list
}

// restore returns the privileges of the role restore: to write everything that a backup may contain, to view users and
// roles, and to read only the collections system.users and system.version of admin.
func restore() []Privilege {
	write := MakeActions(BypassDocumentValidation, CollMod, CreateCollection, CreateIndex, DropCollection, Insert, UpdateSearchIndex)
	read := MakeActions(Find)
	return []Privilege{
		{Cluster, MakeActions(BypassWriteBlockingMode, GetParameter, SetUserWriteBlockMode)},
		{Resource{Kind: OnAny}, MakeActions(ListCollections)},
		{in("", ""), write.Union(MakeActions(ConvertToCapped, CreateSearchIndexes, SetThroughput)).Union(userAdminActions)},
		{in("config", ""), write},
		{in("local", ""), write},
		{Resource{Kind: OnBuckets}, write},
		{in("", "system.js"), write},
		{in("", "system.views"), MakeActions(DropCollection)},
		{in("admin", "system.roles"), MakeActions(CreateIndex)},
		{in("admin", "system.users"), write.Union(read).Union(MakeActions(Remove, Update))},
		{in("admin", "system.version"), write.Union(read)},
	}
}

func root() []Privilege {
	list := clusterAdmin()
	for _, more := range [][]Privilege{readWrite(""), dbAdmin(""), userAdminAny(), listDatabases(), restore(), backup()} {
		list = Merge(list, more)
	}
	return Merge(list, []Privilege{{Resource{Kind: OnAny}, MakeActions(Validate)}})
}
