package access

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// The privileges that commands on users and roles need beyond the Action of their row, depending on their
// arguments.
// Manual: the section "Required Access" of each command's page.

// onRoles notes that an action is needed on the databases of the roles.
func onRoles(q *command.PrivilegeCheck, a auth.Action, roles []auth.Name) {
	for _, n := range roles {
		q.Need(a, collection.Namespace{DB: n.DB})
	}
}

// onPrivileges notes that an action is needed on the databases of the privileges; for privileges on more than
// one database, on all databases.
func onPrivileges(q *command.PrivilegeCheck, a auth.Action, list []auth.Privilege) {
	for _, p := range list {
		if p.Resource.DB != "" {
			q.Need(a, collection.Namespace{DB: p.Resource.DB})
		} else {
			q.NeedEverywhere(a)
		}
	}
}

// onRestrictions notes the privilege to restrict the addresses from which a user may log in.
func onRestrictions(q *command.PrivilegeCheck, n auth.Name, restricts bool) {
	if restricts {
		q.Need(auth.SetAuthenticationRestriction, collection.Namespace{DB: n.DB})
	}
}
