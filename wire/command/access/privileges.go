package access

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// This file notes the privileges that commands on users and roles need beyond the Action of their row, because they
// depend on the arguments.
// Manual: the section "Required Access" of each command's page.

// onRoles notes that the command needs an action, such as grantRole, on the database of each of the given roles.
func onRoles(q *command.PrivilegeCheck, a auth.Action, roles []auth.Name) {
	for _, n := range roles {
		q.Need(a, collection.Namespace{DB: n.DB})
	}
}

// onPrivileges notes that the command needs an action, such as grantRole, on the databases of the given privileges.
// For a privilege that is not limited to one database, the action is needed on all databases.
func onPrivileges(q *command.PrivilegeCheck, a auth.Action, list []auth.Privilege) {
	for _, p := range list {
		if p.Resource.DB != "" {
			q.Need(a, collection.Namespace{DB: p.Resource.DB})
		} else {
			q.NeedEverywhere(a)
		}
	}
}

// onRequestMax notes the privilege to set the default cap of the commands of a user or role, if the command does that
// (caps).
func onRequestMax(q *command.PrivilegeCheck, n auth.Name, caps bool) {
	if caps {
		q.Need(auth.SetThroughput, collection.Namespace{DB: n.DB})
	}
}

// onRestrictions notes the privilege to set the addresses from which a user or role may log in, if the command does
// that (restricts).
func onRestrictions(q *command.PrivilegeCheck, n auth.Name, restricts bool) {
	if restricts {
		q.Need(auth.SetAuthenticationRestriction, collection.Namespace{DB: n.DB})
	}
}
