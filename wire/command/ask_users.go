package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
)

// What commands on users and roles need beyond the Action of their row.
// Manual: the section "Required Access" of each command's page.

// eachName visits an argument that lists roles or users, kind says which: names in
// the command's database, or documents with a db.
func (q *asking) eachName(v bson.Value, kind string, visit func(auth.Name)) {
	one := func(v bson.Value) {
		if s, ok := v.Str(); ok {
			visit(auth.Name{Name: s, DB: q.db})
		} else if d, ok := v.Doc(); ok && v.Type == bson.TypeDocument {
			name, _ := d.Get(kind).Str()
			db, _ := d.Get("db").Str()
			visit(auth.Name{Name: name, DB: db})
		}
	}
	list, ok := v.Array()
	if !ok {
		one(v)
		return
	}
	for v := range list.Values() {
		one(v)
	}
}

// onRoles notes that an action is needed on the databases of the roles listed.
func (q *asking) onRoles(field string, a auth.Action) {
	q.eachName(q.arg(field), "role", func(n auth.Name) { q.need(a, collection.Namespace{DB: n.DB}) })
}

// onPrivileges notes that an action is needed on the databases that the privileges
// listed are about; for those about more than one, on all.
func (q *asking) onPrivileges(a auth.Action) {
	list, _ := q.arg("privileges").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		r, _ := d.Get("resource").Doc()
		if db, _ := r.Get("db").Str(); db != "" {
			q.need(a, collection.Namespace{DB: db})
		} else if !q.grants.MayEverywhere(a) {
			q.denied = true
		}
	}
}

func (q *asking) onRestrictions() {
	if hasField(q.body, "authenticationRestrictions") {
		q.need(auth.SetAuthenticationRestriction, collection.Namespace{DB: q.db})
	}
}

func askCreateUser(q *asking) {
	q.onRoles("roles", auth.GrantRole)
	q.onRestrictions()
}

// askUpdateUser: a user may change its own password and data where a role says so.
func askUpdateUser(q *asking) {
	db := collection.Namespace{DB: q.db}
	name, _ := q.value.Str()
	own := (auth.Name{Name: name, DB: q.db}).String() == q.c.Peer.user
	either := func(all, mine auth.Action) {
		if !own || !q.grants.May(mine, db) {
			q.need(all, db)
		}
	}
	if hasField(q.body, "pwd") || hasField(q.body, "mechanisms") {
		either(auth.ChangePassword, auth.ChangeOwnPassword)
	}
	if hasField(q.body, "customData") {
		either(auth.ChangeCustomData, auth.ChangeOwnCustomData)
	}
	if hasField(q.body, "roles") {
		if !q.grants.MayEverywhere(auth.RevokeRole) {
			q.denied = true
		}
		q.onRoles("roles", auth.GrantRole)
	}
	q.onRestrictions()
	if !hasField(q.body, "pwd") && !hasField(q.body, "customData") && !hasField(q.body, "roles") && !hasField(q.body, "authenticationRestrictions") {
		q.need(auth.ChangePassword, db) // the command says that it lacks something
	}
}

func askGrantRoles(q *asking) { q.onRoles("roles", auth.GrantRole); q.needsRoles() }

func askRevokeRoles(q *asking) { q.onRoles("roles", auth.RevokeRole); q.needsRoles() }

// needsRoles denies a command without roles to those who may grant none.
func (q *asking) needsRoles() {
	list, _ := q.arg("roles").Array()
	if list.IsEmpty() {
		q.need(auth.GrantRole, collection.Namespace{DB: q.db})
	}
}

func askGrantPrivileges(q *asking) { q.changesPrivileges(auth.GrantRole) }

func askRevokePrivileges(q *asking) { q.changesPrivileges(auth.RevokeRole) }

func (q *asking) changesPrivileges(a auth.Action) {
	q.need(a, collection.Namespace{DB: q.db})
	q.onPrivileges(a)
}

func askCreateRole(q *asking) {
	q.onRoles("roles", auth.GrantRole)
	q.onPrivileges(auth.GrantRole)
	q.onRestrictions()
}

func askUpdateRole(q *asking) {
	if !q.grants.MayEverywhere(auth.RevokeRole) {
		q.need(auth.RevokeRole, collection.Namespace{DB: q.db})
	}
	q.onRoles("roles", auth.GrantRole)
	q.onPrivileges(auth.GrantRole)
	q.onRestrictions()
}

// askUsersInfo: everybody may look at itself.
func askUsersInfo(q *asking) {
	if d, ok := q.value.Doc(); ok && q.value.Type == bson.TypeDocument && hasField(d, "forAllDBs") {
		if !q.grants.MayEverywhere(auth.ViewUser) {
			q.denied = true
		}
		return
	}
	if q.value.IsNumber() {
		q.need(auth.ViewUser, collection.Namespace{DB: q.db})
		return
	}
	q.eachName(q.value, "user", func(n auth.Name) {
		if n.String() != q.c.Peer.user {
			q.need(auth.ViewUser, collection.Namespace{DB: n.DB})
		}
	})
}

// askRolesInfo: everybody may look at the roles it has.
func askRolesInfo(q *asking) {
	if q.value.IsNumber() {
		q.need(auth.ViewRole, collection.Namespace{DB: q.db})
		return
	}
	q.eachName(q.value, "role", func(n auth.Name) {
		if !q.c.currentLogin().has(n) {
			q.need(auth.ViewRole, collection.Namespace{DB: n.DB})
		}
	})
}
