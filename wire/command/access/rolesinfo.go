package access

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// runRolesInfo describes roles: one, some, those of a database.
// Manual: reference/command/rolesInfo. Errors: TypeMismatch (14), BadValue (2).
func runRolesInfo(c *command.Call) error {
	var privileges, fragment, builtin, restrictions bool
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		switch name {
		case "showPrivileges":
			if s, ok := v.Str(); ok && v.Type == bson.TypeString {
				if fragment = s == "asUserFragment"; !fragment {
					err = mongoerr.New(mongoerr.BadValue, "Failed to parse 'showPrivileges'. '%s' is neither a boolean nor 'asUserFragment'", s)
				}
				break
			}
			privileges, err = c.BoolArg(name, v)
		case "showBuiltinRoles":
			builtin, err = c.BoolArg(name, v)
		case "showAuthenticationRestrictions":
			restrictions, err = c.BoolArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	names, err := rolesNamed(c, builtin)
	if err != nil {
		return err
	}
	if fragment {
		roleFragment(c, names)
		return nil
	}
	b := c.Reply
	b.BeginArray("roles")
	for _, n := range names {
		roleInfo(c, n, privileges, restrictions)
	}
	b.End()
	return nil
}

// rolesNamed finds the roles that the first field means.
func rolesNamed(c *command.Call, builtin bool) ([]auth.Name, error) {
	if !c.Value.IsNumber() {
		names, err := namesOf(c, "role")
		return slices.DeleteFunc(names, func(n auth.Name) bool { return !c.Server.Auth.HasRole(n) }), err
	}
	if n, ok := c.Value.AsInt64(); !ok || n != 1 {
		return nil, mongoerr.New(mongoerr.BadValue, "rolesInfo takes 1, a name, or names")
	}
	var names []auth.Name
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
	return names, nil
}

// roleFragment shows what somebody with some roles would have.
func roleFragment(c *command.Call, names []auth.Name) {
	b := c.Reply
	b.BeginDoc("userFragment")
	auth.AppendNames(b, "roles", "role", names)
	auth.AppendNames(b, "inheritedRoles", "role", c.Server.Auth.Inherited(names))
	appendPrivileges(b, "inheritedPrivileges", c.Server.Auth.Privileges(names))
	b.End()
}

func appendPrivileges(b *bson.Builder, field string, list []auth.Privilege) {
	b.BeginArray(field)
	for _, p := range list {
		p.Append(b, "")
	}
	b.End()
}

// roleInfo describes one role.
func roleInfo(c *command.Call, n auth.Name, privileges, restrictions bool) {
	r, builtin := c.Server.Auth.Role(n), auth.IsBuiltin(n)
	if builtin {
		r = &auth.Role{Name: n, Privileges: c.Server.Auth.Privileges([]auth.Name{n})}
	}
	if r == nil {
		return // dropped just now
	}
	b := c.Reply
	b.BeginDoc("")
	b.String("_id", n.DB+"."+n.Name)
	b.String("role", n.Name)
	b.String("db", n.DB)
	b.Bool("isBuiltin", builtin)
	auth.AppendNames(b, "roles", "role", r.Roles)
	auth.AppendNames(b, "inheritedRoles", "role", c.Server.Auth.Inherited(r.Roles))
	if privileges {
		appendPrivileges(b, "privileges", r.Privileges)
		appendPrivileges(b, "inheritedPrivileges", c.Server.Auth.Privileges([]auth.Name{n}))
	}
	if restrictions {
		r.Restrictions.Append(b, "authenticationRestrictions")
	}
	b.End()
}
