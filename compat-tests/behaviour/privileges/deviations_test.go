package privileges

import (
	"path"
	"slices"
	"strings"
)

// deviation is an intended difference between the privileges that the server requires and those of the manual, with
// its reason.
type deviation struct {
	requests string // patterns of names, for path.Match, separated by "|"
	targets  string // patterns of namespaces likewise; "" for all
	roles    string // separated by spaces; "" for all
	why      string
}

// ofUsers are the requests about users and roles.
const ofUsers = "createRole*|createUser*|dropAllRoles*|dropAllUsers*|dropRole|dropUser|grant*|revoke*|rolesInfo|updateRole|updateUser*|usersInfo*"

// deviations are the known deviations. The first one that matches applies.
var deviations = []deviation{
	{"getMore", "", "", "a cursor belongs to the user who opened it; it is refused to others, and one that does not exist is not found"},
	{"split|splitVector|mergeChunks", "", "clusterAdmin clusterManager root", "splitChunk and splitVector are among the actions of clusterManager in the manual of 7.0; 8.0 has them no more, and the commands are there"},
	{"*oveCollection|*nshardCollection", "", "clusterAdmin clusterManager root", "the page of the actions wants these on the cluster, the page of the roles gives them on collections, by enableSharding too; they are on the collection here"},
	{"analyzeShardKey|configureQueryAnalyzer", "", "dbAdmin dbAdminAnyDatabase dbOwner", "the page of configureQueryAnalyzer names dbAdmin, that of the roles does not; who samples queries analyzes them"},
	{"$indexStats", "", "dbAdmin dbAdminAnyDatabase dbOwner", "who may make and drop indexes may see whether they are used"},
	{"$collStats|collStats|customAction (GetCollection)", "", "backup __queryableBackup", "a copy of a collection has its size and its throughput with it"},
	{"*", "own.system.views|admin.system.version", "backup __queryableBackup root", "what tools copy beside the ordinary collections; the definitions of views are what listCollections tells backup anyway"},
	{"*", "admin.system.version", "userAdminAnyDatabase", "the version of the users' documents; nothing else is in there"},
	{"*SearchIndex*", "", "", "there is no Atlas Search, and the commands do nothing"},
	{"listIndexes", "admin.system.users", "userAdminAnyDatabase", "who may make indexes there may list them"},
	{ofUsers, "config.|local.", "userAdminAnyDatabase restore root", "who makes users everywhere may let them read config and local, which monitoring agents ask for"},
	{"$querySettings|setQuerySettings|removeQuerySettings|$listSampledQueries", "", "clusterAdmin clusterManager clusterMonitor root", "the pages of these name clusterManager or clusterMonitor, the page of the roles does not"},
	{"$queryStats*|$shardedDataDistribution|getFreeMonitoringStatus|getShardVersion|getShardMap|getClusterParameter", "", "clusterAdmin clusterManager clusterMonitor root",
		"what monitors and managers of clusters read in the releases that have it; it tells of the cluster, not of data"},
	{"dropConnections|setUserWriteBlockMode", "", "clusterAdmin hostManager root", "whoever may shut the server down may do the lesser"},
	{"updateRole", "own.|admin.", "dbOwner userAdmin", "a role of a database outside of admin is about that database alone, and who may revoke roles in admin can give itself all; so that of the role's database is enough"},
	{"$listClusterCatalog*", "", "", "not yet: the action of the cluster is asked for everywhere"},
}

// deviates returns the intended deviation for one request, target and role of the matrix, nil if there is none.
func deviates(request, target, role string) *deviation {
	for i := range deviations {
		d := &deviations[i]
		if matches(d.requests, request) && (d.targets == "" || matches(d.targets, target)) && (d.roles == "" || slices.Contains(strings.Fields(d.roles), strings.TrimSuffix(role, onAdmin))) {
			return d
		}
	}
	return nil
}

func matches(patterns, name string) bool {
	return slices.ContainsFunc(strings.Split(patterns, "|"), func(p string) bool { ok, _ := path.Match(p, name); return ok })
}
