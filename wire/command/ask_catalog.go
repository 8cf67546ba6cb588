package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
)

// What commands on collections and on the server need beyond the Action of their
// row. Manual: the section "Required Access" of each command's page.

// askCreate: whoever may insert may make a plain collection too.
func askCreate(q *asking) {
	ns := q.namespace()
	if !q.grants.May(auth.CreateCollection, ns) && (q.arg("capped").Truthy() || hasField(q.body, "viewOn") || !q.grants.May(auth.Insert, ns)) {
		q.denied = true
	}
	askView(q)
}

// askView: who reads through a view must be allowed to read what it is made of, or
// a view would be a way around that.
func askView(q *asking) {
	on, ok := q.arg("viewOn").Str()
	if !ok || !q.grants.May(auth.Find, q.namespace()) {
		return
	}
	list, _ := q.arg("pipeline").Array()
	source := collection.Namespace{DB: q.db, Coll: on}
	q.need(auth.Find, source)
	q.pipeline(source, list)
}

// askCloneAsCapped: it writes the copy.
func askCloneAsCapped(q *asking) {
	to, _ := q.arg("toCollection").Str()
	ns := collection.Namespace{DB: q.db, Coll: to}
	q.need(auth.Insert, ns)
	q.need(auth.CreateIndex, ns)
	q.need(auth.ConvertToCapped, ns)
}

// askRename: within a database there is an action for it; else it copies.
func askRename(q *asking) {
	source := q.namespace()
	s, _ := q.arg("to").Str()
	target := collection.ParseNamespace(s)
	if source.DB == target.DB && q.grants.May(auth.RenameCollectionSameDB, source) && q.grants.May(auth.RenameCollectionSameDB, target) &&
		(q.grants.May(auth.Find, source) || !q.grants.May(auth.Find, target)) {
		if q.arg("dropTarget").Truthy() {
			q.need(auth.DropCollection, target)
		}
		return
	}
	q.need(auth.Find, source)
	q.need(auth.DropCollection, source)
	q.need(auth.Insert, target)
	q.need(auth.CreateIndex, target)
	if q.arg("dropTarget").Truthy() {
		q.need(auth.DropCollection, target)
	}
}

// askListCollections: who may not list all may ask for the names of what it has
// privileges on.
func askListCollections(q *asking) {
	if q.arg("nameOnly").Truthy() && q.arg("authorizedCollections").Truthy() {
		return
	}
	q.need(auth.ListCollections, collection.Namespace{DB: q.db})
}

// askListDatabases: who may not list all sees those it has privileges on, unless it
// insists on all.
func askListDatabases(q *asking) {
	if v := q.arg("authorizedDatabases"); v.Type == bson.TypeBool && !v.Truthy() {
		q.cluster(auth.ListDatabases)
	}
}

// askCurrentOp: everybody may see what it does itself.
func askCurrentOp(q *asking) {
	if !q.arg("$ownOps").Truthy() {
		q.cluster(auth.Inprog)
	}
}

// askKillOp: everybody may end what it does itself.
func askKillOp(q *asking) {
	n, ok := q.arg("op").AsInt64()
	for _, op := range q.c.ops.list() {
		if ok && op.ID == n && op.User == q.c.Peer.user {
			return
		}
	}
	q.cluster(auth.Killop)
}

// askEnableSharding: the command names a database.
func askEnableSharding(q *asking) {
	db, _ := q.value.Str()
	q.need(auth.EnableSharding, collection.Namespace{DB: db})
}

// The balancer's state stands in config.settings.
var balancerSettings = collection.Namespace{DB: "config", Coll: "settings"}

func askReadSettings(q *asking) { q.need(auth.Find, balancerSettings) }

func askWriteSettings(q *asking) { q.need(auth.Update, balancerSettings) }

// askCustomAction: the extension commands of Azure Cosmos DB are about a collection
// or a database, and know no privileges of their own.
func askCustomAction(q *asking) {
	ns := collection.Namespace{DB: q.db}
	ns.Coll, _ = q.arg("collection").Str()
	action, _ := q.value.Str()
	switch action {
	case "CreateCollection", "CreateDatabase":
		q.need(auth.CreateCollection, ns)
	case "GetChangeStreamTokens":
		q.need(auth.ChangeStream, ns)
	case "GetCollection", "GetPartitions":
		q.need(auth.CollStats, ns)
	case "GetDatabase":
		q.need(auth.DbStats, ns)
	case "Clock", "InjectThrottle":
		q.cluster(auth.SetParameter)
	case "MergePartitions", "RedistributeThroughput":
		q.need(auth.SplitChunk, ns)
	default:
		q.need(auth.CollMod, ns)
	}
}
