package access

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// roleArgs holds the arguments of createRole and updateRole.
type roleArgs struct {
	role                                     auth.Role
	hasPrivileges, hasRoles, hasRestrictions bool
	hasRequestMax                            bool
}

// parseRoleArgs reads the arguments of createRole and updateRole.
func parseRoleArgs(c *command.Call) (a *roleArgs, err error) {
	a = &roleArgs{}
	if a.role.Name, err = entryName(c); err != nil {
		return a, err
	}
	err = c.ReadArgs(
		arguments.By("privileges", func(v bson.Value) (err error) {
			a.role.Privileges, err = grantedArg(c, "privileges", v)
			return err
		}).Given(&a.hasPrivileges),
		arguments.By("roles", func(v bson.Value) (err error) {
			a.role.Roles, err = namesArg(c, "roles", "role", v)
			return err
		}).Given(&a.hasRoles),
		arguments.By("authenticationRestrictions", func(v bson.Value) (err error) {
			a.role.Restrictions, err = auth.ParseRestrictions(v)
			return err
		}).Given(&a.hasRestrictions),
		requestMaxArg(c, &a.role.RequestMax, &a.hasRequestMax),
	)
	return a, err
}

// privilegesArg reads a list of privileges.
func privilegesArg(c *command.Call, name string, v bson.Value) ([]auth.Privilege, error) {
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.WrongType(c.Field(name), v.Type.String(), "array")
	}
	return auth.ParsePrivileges(c.Env(), list)
}

// grantedArg reads an argument with privileges that a role is to get. Errors: errors of privilegesArg,
// InvalidRoleModification (49) for an action that only roles of admin may have, unless it is granted as part of all
// actions.
func grantedArg(c *command.Call, name string, v bson.Value) ([]auth.Privilege, error) {
	list, err := privilegesArg(c, name, v)
	for _, p := range list {
		if not := p.Actions.OnlyOfAdmin(); c.DB != "admin" && p.Actions != auth.AllActions() && !not.IsEmpty() {
			return nil, mongoerr.New(mongoerr.InvalidRoleModification, "Roles on the '%s' database cannot be granted the action %s: make the role in admin, with the same resource",
				c.DB, strings.Join(not.Names(), ", "))
		}
	}
	return list, err
}

// noRole returns the error that a role does not exist. Errors: RoleNotFound (31).
func noRole(n auth.Name) error { return mongoerr.New(mongoerr.RoleNotFound, "Role '%s' not found", n) }

// checkRole refuses a role that inherits from a role that does not exist, or from itself. It also refuses a role
// outside of admin that has roles of other databases, or privileges on other databases or on the cluster. Errors:
// RoleNotFound (31), InvalidRoleModification (49).
func checkRole(c *command.Call, e *auth.Edit, r *auth.Role) error {
	if err := checkRoles(e.Directory, r.Roles); err != nil {
		return err
	}
	n, cycle, err := e.Leading(c.Env(), r.Roles, r.Name)
	if err != nil {
		return err
	}
	if cycle {
		return mongoerr.New(mongoerr.InvalidRoleModification, "Granting %s to %s would introduce a cycle in the role graph", n, r.Name)
	}
	if r.DB == "admin" {
		return nil
	}
	for _, n := range r.Roles {
		if n.DB != r.DB {
			return mongoerr.New(mongoerr.InvalidRoleModification, "Roles on the '%s' database cannot be granted roles from other databases", r.DB)
		}
	}
	for _, p := range r.Privileges {
		if p.Resource.DB != r.DB || p.Resource.Kind == auth.OnCluster || p.Resource.Kind == auth.OnAny {
			return mongoerr.New(mongoerr.InvalidRoleModification, "Roles on the '%s' database cannot be granted privileges that target other databases or the cluster", r.DB)
		}
	}
	return nil
}

// createRoleRequest is a createRole with parsed arguments.
type createRoleRequest struct{ *roleArgs }

func parseCreateRole(c *command.Call) (command.Request, error) {
	a, err := parseRoleArgs(c)
	return &createRoleRequest{a}, err
}

// Needs notes the privileges of a createRole: to grant what the new role gets, and to restrict its addresses.
func (a *createRoleRequest) Needs(q *command.PrivilegeCheck) { a.grants(q) }

// grants notes the privileges to grant the roles and privileges in the arguments, and to restrict addresses.
func (a *roleArgs) grants(q *command.PrivilegeCheck) {
	onRoles(q, auth.GrantRole, a.role.Roles)
	onPrivileges(q, auth.GrantRole, a.role.Privileges)
	onRestrictions(q, a.role.Name, a.hasRestrictions)
	onRequestMax(q, a.role.Name, a.hasRequestMax)
}

// Run creates the role. Manual: reference/command/createRole.
// Errors: IDLFailedToParse (40414), BadValue (2), Unauthorized (13), RoleNotFound (31), InvalidRoleModification (49),
// 51002 if a role of that name exists.
func (a *createRoleRequest) Run(c *command.Call) error {
	r := &a.role
	switch {
	case !a.hasPrivileges:
		return mongoerr.MissingField(c.Field("privileges"))
	case !a.hasRoles:
		return mongoerr.MissingField(c.Field("roles"))
	case c.DB == "local":
		return mongoerr.New(mongoerr.BadValue, "Cannot create roles in the local database")
	case c.DB == auth.External:
		return mongoerr.New(mongoerr.BadValue, "Cannot create roles in the $external database")
	case auth.IsBuiltin(r.Name):
		return mongoerr.New(mongoerr.BadValue, "Cannot create roles with the same name as a built-in role")
	}
	return c.Server.Auth.Change(c.Ctx, func(e *auth.Edit) error {
		if e.Role(r.Name) != nil {
			return mongoerr.New(51002, "Role \"%s\" already exists", r.Name)
		}
		if c.Server.RequireAuth && c.ConnState.Login == nil && !e.Empty() {
			return mongoerr.New(mongoerr.Unauthorized, "Command %s requires authentication", c.Name()) // another client was faster
		}
		e.PutRole(r)
		return checkRole(c, e, r)
	})
}

// changeRole applies fn to a copy of a role and stores it if it is a valid role. Built-in roles cannot be changed.
// Errors: RoleNotFound (31), InvalidRoleModification (49), errors of fn.
func changeRole(c *command.Call, n auth.Name, fn func(e *auth.Edit, r *auth.Role) error) error {
	return c.Server.Auth.Change(c.Ctx, func(e *auth.Edit) error {
		if auth.IsBuiltin(n) {
			return mongoerr.New(mongoerr.InvalidRoleModification, "%s is a built-in role and cannot be modified", n)
		}
		was := e.Role(n)
		if was == nil {
			return noRole(n)
		}
		r := *was
		if err := fn(e, &r); err != nil {
			return err
		}
		e.PutRole(&r)
		return checkRole(c, e, &r)
	})
}

// updateRoleRequest is an updateRole with parsed arguments.
type updateRoleRequest struct{ *roleArgs }

func parseUpdateRole(c *command.Call) (command.Request, error) {
	a, err := parseRoleArgs(c)
	return &updateRoleRequest{a}, err
}

// Needs notes the privileges of an updateRole: to revoke the old roles and privileges, to grant the new ones, and to
// restrict the role's addresses.
func (a *updateRoleRequest) Needs(q *command.PrivilegeCheck) {
	if !q.MayEverywhere(auth.RevokeRole) {
		q.Need(auth.RevokeRole, collection.Namespace{DB: a.role.DB})
	}
	a.grants(q)
}

// Run changes the given fields.
// Manual: reference/command/updateRole.
func (a *updateRoleRequest) Run(c *command.Call) error {
	if !a.hasPrivileges && !a.hasRoles && !a.hasRestrictions && !a.hasRequestMax {
		return mongoerr.New(mongoerr.BadValue, "updateRole requires at least one of \"roles\", \"privileges\", \"authenticationRestrictions\" and \"defaultMaxRequestUnits\"")
	}
	return changeRole(c, a.role.Name, func(_ *auth.Edit, r *auth.Role) error {
		if a.hasPrivileges {
			r.Privileges = a.role.Privileges
		}
		if a.hasRoles {
			r.Roles = a.role.Roles
		}
		if a.hasRestrictions {
			r.Restrictions = a.role.Restrictions
		}
		if a.hasRequestMax {
			r.RequestMax = a.role.RequestMax
		}
		return nil
	})
}

// runDropRole removes a role from the database, and from all users and roles that have it.
// Manual: reference/command/dropRole.
// Errors: RoleNotFound (31), InvalidRoleModification (49).
func runDropRole(c *command.Call) error {
	n, err := entryName(c)
	if err == nil {
		err = c.NoArguments()
	}
	if err != nil {
		return err
	}
	return c.Server.Auth.Change(c.Ctx, func(e *auth.Edit) error {
		if auth.IsBuiltin(n) {
			return mongoerr.New(mongoerr.InvalidRoleModification, "%s is a built-in role and cannot be modified", n)
		}
		if e.Role(n) == nil {
			return noRole(n)
		}
		return e.DropRoles(c.Env(), n)
	})
}

// runDropAllRoles removes the user-defined roles of a database.
// Manual: reference/command/dropAllRolesFromDatabase.
func runDropAllRoles(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	n := 0
	err := c.Server.Auth.Change(c.Ctx, func(e *auth.Edit) error {
		var names []auth.Name
		for _, r := range c.Server.Auth.Roles(c.DB) {
			names = append(names, r.Name)
		}
		n = len(names)
		return e.DropRoles(c.Env(), names...)
	})
	if err == nil {
		c.Reply.Int32("n", int32(n))
	}
	return err
}

// parseGrantRolesToRole reads a command that adds roles to a role.
// Manual: reference/command/grantRolesToRole.
func parseGrantRolesToRole(c *command.Call) (command.Request, error) {
	return parseRoleChange(c, auth.GrantRole, func(c *command.Call, n auth.Name, roles []auth.Name) error {
		return changeRole(c, n, func(_ *auth.Edit, r *auth.Role) error {
			r.Roles = addNames(r.Roles, roles)
			return nil
		})
	})
}

// parseRevokeRolesFromRole reads a command that removes roles from a role.
// Manual: reference/command/revokeRolesFromRole.
func parseRevokeRolesFromRole(c *command.Call) (command.Request, error) {
	return parseRoleChange(c, auth.RevokeRole, func(c *command.Call, n auth.Name, roles []auth.Name) error {
		return changeRole(c, n, func(e *auth.Edit, r *auth.Role) error {
			r.Roles = withoutNames(r.Roles, roles)
			return checkRoles(e.Directory, roles)
		})
	})
}

// readPrivileges reads an argument that lists privileges.
type readPrivileges func(c *command.Call, name string, v bson.Value) ([]auth.Privilege, error)

// parsePrivilegeChange reads a command that grants privileges to a role or revokes them; read reads the argument, run
// executes the command. The user needs action a on the role's database, and on the databases of the privileges.
func parsePrivilegeChange(c *command.Call, a auth.Action, read readPrivileges, run func(c *command.Call, n auth.Name, list []auth.Privilege) error) (command.Request, error) {
	n, list, err := privilegesOnly(c, read)
	needs := func(q *command.PrivilegeCheck) {
		q.Need(a, collection.Namespace{DB: n.DB})
		onPrivileges(q, a, list)
	}
	return command.NewRequest(needs, func(c *command.Call) error { return run(c, n, list) }), err
}

// privilegesOnly reads the name of a role, and with read the argument privileges, of a command that has no other
// arguments.
func privilegesOnly(c *command.Call, read readPrivileges) (n auth.Name, list []auth.Privilege, err error) {
	if n, err = entryName(c); err != nil {
		return n, nil, err
	}
	err = c.ReadArgs(arguments.By("privileges", func(v bson.Value) (err error) {
		list, err = read(c, "privileges", v)
		return err
	}).Required())
	if err == nil && len(list) == 0 {
		err = mongoerr.New(mongoerr.BadValue, "%s command requires a non-empty \"privileges\" array", c.Name())
	}
	return n, list, err
}

// parseGrantPrivileges reads a command that adds privileges to a role.
// Manual: reference/command/grantPrivilegesToRole.
func parseGrantPrivileges(c *command.Call) (command.Request, error) {
	return parsePrivilegeChange(c, auth.GrantRole, grantedArg, func(c *command.Call, n auth.Name, list []auth.Privilege) error {
		return changeRole(c, n, func(_ *auth.Edit, r *auth.Role) error {
			r.Privileges = auth.Merge(r.Privileges, list)
			return nil
		})
	})
}

// parseRevokePrivileges reads a command that removes privileges from a role. An action is removed only from exactly
// the resource for which it was granted. Manual: reference/command/revokePrivilegesFromRole.
func parseRevokePrivileges(c *command.Call) (command.Request, error) {
	return parsePrivilegeChange(c, auth.RevokeRole, privilegesArg, func(c *command.Call, n auth.Name, list []auth.Privilege) error {
		return changeRole(c, n, func(_ *auth.Edit, r *auth.Role) error {
			r.Privileges = auth.Without(r.Privileges, list)
			return nil
		})
	})
}
