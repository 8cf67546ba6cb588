package shards

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// askEnableSharding: the command names a database.
func askEnableSharding(q *command.PrivilegeCheck) {
	db, _ := q.Value.Str()
	q.Need(auth.EnableSharding, collection.Namespace{DB: db})
}

// The balancer's state stands in config.settings.
var balancerSettings = collection.Namespace{DB: "config", Coll: "settings"}

func askReadSettings(q *command.PrivilegeCheck) { q.Need(auth.Find, balancerSettings) }

func askWriteSettings(q *command.PrivilegeCheck) { q.Need(auth.Update, balancerSettings) }

// askCustomAction: the extension commands of Azure Cosmos DB are about a collection
// or a database, and know no privileges of their own.
func askCustomAction(q *command.PrivilegeCheck) {
	ns := collection.Namespace{DB: q.DB}
	ns.Coll, _ = q.Arg("collection").Str()
	action, _ := q.Value.Str()
	switch action {
	case "CreateCollection", "CreateDatabase":
		q.Need(auth.CreateCollection, ns)
	case "GetChangeStreamTokens":
		q.Need(auth.ChangeStream, ns)
	case "GetCollection", "GetPartitions":
		q.Need(auth.CollStats, ns)
	case "GetDatabase":
		q.Need(auth.DbStats, ns)
	case "Clock", "InjectThrottle":
		q.NeedOnCluster(auth.SetParameter)
	case "MergePartitions", "RedistributeThroughput":
		q.Need(auth.SplitChunk, ns)
	default:
		q.Need(auth.CollMod, ns)
	}
}
