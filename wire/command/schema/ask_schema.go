package schema

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// askCreate: whoever may insert may make a plain collection too.
func askCreate(q *command.PrivilegeCheck) {
	ns := q.Namespace()
	if !q.Grants.May(auth.CreateCollection, ns) && (q.Arg("capped").Truthy() || command.HasField(q.Body, "viewOn") || !q.Grants.May(auth.Insert, ns)) {
		q.Denied = true
	}
	askView(q)
}

// askView: who reads through a view must be allowed to read what it is made of, or
// a view would be a way around that.
func askView(q *command.PrivilegeCheck) {
	on, ok := q.Arg("viewOn").Str()
	if !ok || !q.Grants.May(auth.Find, q.Namespace()) {
		return
	}
	list, _ := q.Arg("pipeline").Array()
	source := collection.Namespace{DB: q.DB, Coll: on}
	q.Need(auth.Find, source)
	q.Pipeline(source, list)
}

// askCloneAsCapped: it writes the copy.
func askCloneAsCapped(q *command.PrivilegeCheck) {
	to, _ := q.Arg("toCollection").Str()
	ns := collection.Namespace{DB: q.DB, Coll: to}
	q.Need(auth.Insert, ns)
	q.Need(auth.CreateIndex, ns)
	q.Need(auth.ConvertToCapped, ns)
}

// askRename: within a database there is an action for it; else it copies.
func askRename(q *command.PrivilegeCheck) {
	source := q.Namespace()
	s, _ := q.Arg("to").Str()
	target := collection.ParseNamespace(s)
	if source.DB == target.DB && q.Grants.May(auth.RenameCollectionSameDB, source) && q.Grants.May(auth.RenameCollectionSameDB, target) &&
		(q.Grants.May(auth.Find, source) || !q.Grants.May(auth.Find, target)) {
		if q.Arg("dropTarget").Truthy() {
			q.Need(auth.DropCollection, target)
		}
		return
	}
	q.Need(auth.Find, source)
	q.Need(auth.DropCollection, source)
	q.Need(auth.Insert, target)
	q.Need(auth.CreateIndex, target)
	if q.Arg("dropTarget").Truthy() {
		q.Need(auth.DropCollection, target)
	}
}

// askListCollections: who may not list all may ask for the names of what it has
// privileges on.
func askListCollections(q *command.PrivilegeCheck) {
	if q.Arg("nameOnly").Truthy() && q.Arg("authorizedCollections").Truthy() {
		return
	}
	q.Need(auth.ListCollections, collection.Namespace{DB: q.DB})
}

// askListDatabases: who may not list all sees those it has privileges on, unless it
// insists on all.
func askListDatabases(q *command.PrivilegeCheck) {
	if v := q.Arg("authorizedDatabases"); v.Type == bson.TypeBool && !v.Truthy() {
		q.NeedOnCluster(auth.ListDatabases)
	}
}
