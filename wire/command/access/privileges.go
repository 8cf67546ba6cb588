package access

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// What commands on users and roles need beyond the Action of their row.
// Manual: the section "Required Access" of each command's page.

// eachName visits an argument that lists roles or users, kind says which: names in
// the command's database, or documents with a db.
func eachName(q *command.PrivilegeCheck, v bson.Value, kind string, visit func(auth.Name)) {
	one := func(v bson.Value) {
		if s, ok := v.Str(); ok {
			visit(auth.Name{Name: s, DB: q.DB})
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
func onRoles(q *command.PrivilegeCheck, field string, a auth.Action) {
	eachName(q, q.Arg(field), "role", func(n auth.Name) { q.Need(a, collection.Namespace{DB: n.DB}) })
}

// onPrivileges notes that an action is needed on the databases that the privileges
// listed are about; for those about more than one, on all.
func onPrivileges(q *command.PrivilegeCheck, a auth.Action) {
	list, _ := q.Arg("privileges").Array()
	for v := range list.Values() {
		d, _ := v.Doc()
		r, _ := d.Get("resource").Doc()
		if db, _ := r.Get("db").Str(); db != "" {
			q.Need(a, collection.Namespace{DB: db})
		} else if !q.Grants.MayEverywhere(a) {
			q.Denied = true
		}
	}
}

// onRestrictions notes what is needed to restrict from where somebody may log in.
func onRestrictions(q *command.PrivilegeCheck) {
	if q.Body.Has("authenticationRestrictions") {
		q.Need(auth.SetAuthenticationRestriction, collection.Namespace{DB: q.DB})
	}
}

// createUserPrivileges notes what is needed to grant the new user its roles.
func createUserPrivileges(q *command.PrivilegeCheck) {
	onRoles(q, "roles", auth.GrantRole)
	onRestrictions(q)
}

// updateUserPrivileges notes what is needed to change a user, who may change its own
// password and data where a role says so.
func updateUserPrivileges(q *command.PrivilegeCheck) {
	db := collection.Namespace{DB: q.DB}
	name, _ := q.Value.Str()
	own := q.Call.Peer.User.Called(name, q.DB)
	either := func(all, mine auth.Action) {
		if !own || !q.Grants.May(mine, db) {
			q.Need(all, db)
		}
	}
	if q.Body.Has("pwd") || q.Body.Has("mechanisms") {
		either(auth.ChangePassword, auth.ChangeOwnPassword)
	}
	if q.Body.Has("customData") {
		either(auth.ChangeCustomData, auth.ChangeOwnCustomData)
	}
	if q.Body.Has("roles") {
		if !q.Grants.MayEverywhere(auth.RevokeRole) {
			q.Denied = true
		}
		onRoles(q, "roles", auth.GrantRole)
	}
	onRestrictions(q)
	if !q.Body.Has("pwd") && !q.Body.Has("customData") && !q.Body.Has("roles") && !q.Body.Has("authenticationRestrictions") {
		q.Need(auth.ChangePassword, db) // the command says that it lacks something
	}
}

// grantRolesPrivileges notes what is needed to grant each of the roles.
func grantRolesPrivileges(q *command.PrivilegeCheck) {
	onRoles(q, "roles", auth.GrantRole)
	needsRoles(q)
}

// revokeRolesPrivileges notes what is needed to revoke each of the roles.
func revokeRolesPrivileges(q *command.PrivilegeCheck) {
	onRoles(q, "roles", auth.RevokeRole)
	needsRoles(q)
}

// needsRoles denies a command without roles to those who may grant none.
func needsRoles(q *command.PrivilegeCheck) {
	list, _ := q.Arg("roles").Array()
	if list.IsEmpty() {
		q.Need(auth.GrantRole, collection.Namespace{DB: q.DB})
	}
}

// grantToRolePrivileges notes what grantPrivilegesToRole needs.
func grantToRolePrivileges(q *command.PrivilegeCheck) { changesPrivileges(q, auth.GrantRole) }

// revokeFromRolePrivileges notes what revokePrivilegesFromRole needs.
func revokeFromRolePrivileges(q *command.PrivilegeCheck) { changesPrivileges(q, auth.RevokeRole) }

// changesPrivileges notes that an action is needed on the role's database, and on those
// that its privileges are about.
func changesPrivileges(q *command.PrivilegeCheck, a auth.Action) {
	q.Need(a, collection.Namespace{DB: q.DB})
	onPrivileges(q, a)
}

// createRolePrivileges notes what is needed to grant the new role what it has.
func createRolePrivileges(q *command.PrivilegeCheck) {
	onRoles(q, "roles", auth.GrantRole)
	onPrivileges(q, auth.GrantRole)
	onRestrictions(q)
}

// updateRolePrivileges notes what is needed to take from the role what it had, and to grant
// what it gets.
func updateRolePrivileges(q *command.PrivilegeCheck) {
	if !q.Grants.MayEverywhere(auth.RevokeRole) {
		q.Need(auth.RevokeRole, collection.Namespace{DB: q.DB})
	}
	onRoles(q, "roles", auth.GrantRole)
	onPrivileges(q, auth.GrantRole)
	onRestrictions(q)
}

// usersInfoPrivileges notes what is needed to look at others; everybody may look at
// itself.
func usersInfoPrivileges(q *command.PrivilegeCheck) {
	if d, ok := q.Value.Doc(); ok && q.Value.Type == bson.TypeDocument && d.Has("forAllDBs") {
		if !q.Grants.MayEverywhere(auth.ViewUser) {
			q.Denied = true
		}
		return
	}
	if q.Value.IsNumber() {
		q.Need(auth.ViewUser, collection.Namespace{DB: q.DB})
		return
	}
	eachName(q, q.Value, "user", func(n auth.Name) {
		if !q.Call.Peer.User.Called(n.Name, n.DB) {
			q.Need(auth.ViewUser, collection.Namespace{DB: n.DB})
		}
	})
}

// rolesInfoPrivileges notes what is needed to look at roles that the user has not.
func (s *State) rolesInfoPrivileges(q *command.PrivilegeCheck) {
	if q.Value.IsNumber() {
		q.Need(auth.ViewRole, collection.Namespace{DB: q.DB})
		return
	}
	eachName(q, q.Value, "role", func(n auth.Name) {
		if !q.Call.Peer.Login.Has(n) { // as authorize has just found it
			q.Need(auth.ViewRole, collection.Namespace{DB: n.DB})
		}
	})
}
