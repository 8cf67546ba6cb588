package access

import (
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// What commands on users and roles need beyond the Action of their row, by the arguments as they
// have been read. Manual: the section "Required Access" of each command's page.

// onRoles notes that an action is needed on the databases of the roles.
func onRoles(q *command.PrivilegeCheck, a auth.Action, roles []auth.Name) {
	for _, n := range roles {
		q.Need(a, collection.Namespace{DB: n.DB})
	}
}

// onPrivileges notes that an action is needed on the databases that the privileges
// are about; for those about more than one, on all.
func onPrivileges(q *command.PrivilegeCheck, a auth.Action, list []auth.Privilege) {
	for _, p := range list {
		if p.Resource.DB != "" {
			q.Need(a, collection.Namespace{DB: p.Resource.DB})
		} else {
			q.NeedEverywhere(a)
		}
	}
}

// onRestrictions notes what is needed to restrict from where somebody may log in.
func onRestrictions(q *command.PrivilegeCheck, n auth.Name, restricts bool) {
	if restricts {
		q.Need(auth.SetAuthenticationRestriction, collection.Namespace{DB: n.DB})
	}
}
