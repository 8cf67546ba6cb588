package access

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// rolesInfoArgs holds the arguments of rolesInfo.
type rolesInfoArgs struct {
	privileges, fragment, builtin, restrictions bool

	selection
}

// parseRolesInfo reads the arguments of rolesInfo.
func parseRolesInfo(c *command.Call) (command.Request, error) {
	a := &rolesInfoArgs{}
	err := c.ReadArgs(
		arguments.By("showPrivileges", func(v bson.Value) error { return a.readShowPrivileges(c, v) }),
		arguments.Bool("showBuiltinRoles", &a.builtin),
		arguments.Bool("showAuthenticationRestrictions", &a.restrictions),
	)
	if err == nil {
		a.selection, err = selectRoles(c)
	}
	return a, err
}

// readShowPrivileges reads the argument showPrivileges of rolesInfo, a boolean or "asUserFragment". Errors:
// TypeMismatch (14), BadValue (2).
func (a *rolesInfoArgs) readShowPrivileges(c *command.Call, v bson.Value) (err error) {
	if s, ok := v.Str(); ok && v.Type == bson.TypeString {
		if a.fragment = s == "asUserFragment"; !a.fragment {
			return mongoerr.New(mongoerr.BadValue, "Failed to parse 'showPrivileges'. '%s' is neither a boolean nor 'asUserFragment'", s)
		}
		return nil
	}
	a.privileges, err = c.BoolArg("showPrivileges", v)
	return err
}

// Needs notes the privilege viewRole of a rolesInfo; it is not needed for roles that the user itself has.
func (a *rolesInfoArgs) Needs(q *command.PrivilegeCheck) {
	a.needs(q, auth.ViewRole, q.Call.ConnState.Login.Has)
}

// Run replies with descriptions of one role, several roles, or all roles of a database.
// Manual: reference/command/rolesInfo. Errors: BSONObjectTooLarge (10334), the reason why the command must end.
func (a *rolesInfoArgs) Run(c *command.Call) error {
	names := a.roles(c, a.builtin)
	if a.fragment {
		return roleFragment(c, names)
	}
	b := c.Reply
	b.BeginArray("roles")
	for _, n := range names {
		if err := roleInfo(c, n, a.privileges, a.restrictions); err != nil {
			return err
		}
		if err := c.CheckReplySize(); err != nil {
			return err
		}
	}
	b.End()
	return nil
}

// selectRoles reads the first field of rolesInfo: 1 for all roles of the database, a role, or several roles. Errors:
// TypeMismatch (14), BadValue (2), IDLFailedToParse (40414), IDLUnknownField (40415).
func selectRoles(c *command.Call) (x selection, err error) {
	if !c.Value.IsNumber() {
		x.names, err = namesOf(c, "role")
		return x, err
	}
	if n, ok := c.Value.AsInt64(); !ok || n != 1 {
		return x, mongoerr.New(mongoerr.BadValue, "rolesInfo takes 1, a name, or names")
	}
	x.ofDatabase = true
	return x, nil
}

// roles returns the selected roles that exist.
func (x *selection) roles(c *command.Call, builtin bool) (names []auth.Name) {
	if !x.ofDatabase {
		return slices.DeleteFunc(slices.Clone(x.names), func(n auth.Name) bool { return !c.Server.Auth.HasRole(n) })
	}
	for _, r := range c.Server.Auth.Roles(c.DB) {
		names = append(names, r.Name)
	}
	if builtin {
		for _, r := range auth.Builtins {
			if r.Everywhere || c.DB == "admin" {
				names = append(names, auth.Name{Name: r.Name, DB: c.DB})
			}
		}
	}
	return names
}

// roleFragment replies with the part of a usersInfo reply that depends on roles: the roles and privileges of an
// imaginary user that has the given roles.
func roleFragment(c *command.Call, names []auth.Name) error {
	b := c.Reply
	b.BeginDoc("userFragment")
	auth.AppendNames(b, "roles", "role", names)
	err := appendInherited(c, b, names)
	b.End()
	return err
}

// appendInherited appends all roles that the given roles include, and all privileges that follow from them.
// Errors: the reason why the command must end.
func appendInherited(c *command.Call, b *bson.Builder, names []auth.Name) error {
	inherited, err := c.Server.Auth.Inherited(c.Env(), names)
	if err != nil {
		return err
	}
	privileges, err := c.Server.Auth.Privileges(c.Env(), names)
	auth.AppendNames(b, "inheritedRoles", "role", inherited)
	appendPrivileges(b, "inheritedPrivileges", privileges)
	return err
}

func appendPrivileges(b *bson.Builder, field string, list []auth.Privilege) {
	b.BeginArray(field)
	for _, p := range list {
		p.Append(b, "")
	}
	b.End()
}

// roleInfo appends the description of one role to the reply of rolesInfo. Errors: the reason why the command must
// end.
func roleInfo(c *command.Call, n auth.Name, privileges, restrictions bool) error {
	r, builtin := c.Server.Auth.Role(n), auth.IsBuiltin(n)
	var all []auth.Privilege
	if builtin || privileges {
		var err error
		if all, err = c.Server.Auth.Privileges(c.Env(), []auth.Name{n}); err != nil {
			return err
		}
	}
	if builtin {
		r = &auth.Role{Name: n, Privileges: all}
	}
	if r == nil {
		return nil // dropped since the names were read
	}
	inherited, err := c.Server.Auth.Inherited(c.Env(), r.Roles)
	if err != nil {
		return err
	}
	b := c.Reply
	b.BeginDoc("")
	b.String("_id", n.DB+"."+n.Name)
	b.String("role", n.Name)
	b.String("db", n.DB)
	b.Bool("isBuiltin", builtin)
	auth.AppendNames(b, "roles", "role", r.Roles)
	auth.AppendNames(b, "inheritedRoles", "role", inherited)
	auth.AppendRequestMax(b, r.RequestMax)
	if privileges {
		appendPrivileges(b, "privileges", r.Privileges)
		appendPrivileges(b, "inheritedPrivileges", all)
	}
	if restrictions {
		r.Restrictions.Append(b, "authenticationRestrictions")
	}
	b.End()
	return nil
}
