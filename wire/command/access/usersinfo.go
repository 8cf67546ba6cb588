package access

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// usersInfoArgs say what usersInfo shows beside the users themselves.
type usersInfoArgs struct {
	credentials, privileges, restrictions bool
	customData                            bool
	filter                                bson.Raw
}

// runUsersInfo describes users: one, some, those of a database, all.
// Manual: reference/command/usersInfo. Errors: TypeMismatch (14), BadValue (2),
// InvalidOptions (72).
func runUsersInfo(c *command.Call) error {
	a := usersInfoArgs{customData: true}
	err := c.Each(func(name string, v bson.Value) (bool, error) {
		var err error
		switch name {
		case "showCredentials":
			a.credentials, err = c.BoolArg(name, v)
		case "showPrivileges":
			a.privileges, err = c.BoolArg(name, v)
		case "showAuthenticationRestrictions":
			a.restrictions, err = c.BoolArg(name, v)
		case "showCustomData":
			if !v.IsMissing() {
				a.customData, err = c.BoolArg(name, v)
			}
		case "authenticatedMechanism": // users of every mechanism are kept in the same place
			_, err = c.StringArg(name, v)
		case "filter":
			a.filter, err = c.DocArg(name, v)
		default:
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	users, listed, err := usersNamed(c)
	if err != nil {
		return err
	}
	if listed && (a.privileges || a.restrictions) {
		return mongoerr.New(mongoerr.BadValue, "Privilege or restriction details require exact-match usersInfo queries")
	}
	if a.filter != nil && (a.privileges || a.restrictions) {
		return mongoerr.New(mongoerr.BadValue, "Filters cannot be used with privilege or restriction details")
	}
	keeps, err := match.Keeper(c.Env(), a.filter)
	if err != nil {
		return err
	}
	c.Reply.BeginArray("users")
	for _, u := range users {
		d, err := userInfo(c, u, &a)
		if err != nil {
			return err
		}
		ok, err := keeps(d)
		if err != nil {
			return err
		}
		if ok {
			c.Reply.Raw("", d)
			if err := c.Fits(); err != nil {
				return err
			}
		}
	}
	c.Reply.End()
	return nil
}

// usersNamed finds the users that the first field means; listed says that it named
// none.
func usersNamed(c *command.Call) (users []*auth.User, listed bool, err error) {
	if c.Value.IsNumber() {
		if n, ok := c.Value.AsInt64(); !ok || n != 1 {
			return nil, false, mongoerr.New(mongoerr.BadValue, "usersInfo takes 1, a name, or names")
		}
		return c.Server.Auth.Users(c.DB), true, nil
	}
	if d, ok := c.Value.Doc(); ok && c.Value.Type == bson.TypeDocument && d.Has("forAllDBs") {
		if b, ok := d.Get("forAllDBs").Boolean(); !ok || !b || d.Len() != 1 {
			return nil, false, mongoerr.New(mongoerr.BadValue, "forAllDBs must be true and stand alone")
		}
		return c.Server.Auth.Users(""), true, nil
	}
	names, err := namesOf(c, "user")
	for _, n := range names {
		if u := c.Server.Auth.User(n); u != nil {
			users = append(users, u)
		}
	}
	return users, false, err
}

// namesOf reads a first field that is a name or an array of names.
func namesOf(c *command.Call, kind string) ([]auth.Name, error) {
	if _, ok := c.Value.Array(); ok {
		return namesArg(c, c.Name(), kind, c.Value)
	}
	if c.Value.Type != bson.TypeString && c.Value.Type != bson.TypeDocument {
		return nil, mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "string", "object", "array", "int")
	}
	n, err := nameOf(c, c.Name(), kind, c.Value)
	return []auth.Name{n}, err
}

// userInfo describes one user. Errors: why the command is to end.
func userInfo(c *command.Call, u *auth.User, a *usersInfoArgs) (bson.Raw, error) {
	b := bson.NewBuilder(nil)
	b.String("_id", u.DB+"."+u.Name.Name)
	b.Binary("userId", 4, u.ID[:])
	b.String("user", u.Name.Name)
	b.String("db", u.DB)
	if a.credentials {
		u.AppendCredentials(b)
	}
	if u.CustomData != nil && a.customData {
		b.Raw("customData", u.CustomData)
	}
	auth.AppendNames(b, "roles", "role", u.Roles)
	if a.privileges {
		if err := appendInherited(c, b, u.Roles); err != nil {
			return nil, err
		}
	}
	if a.privileges || a.restrictions {
		all, err := c.Server.Auth.Restrictions(c.Env(), u)
		if err != nil {
			return nil, err
		}
		all[0].Append(b, "authenticationRestrictions")
		b.BeginArray("inheritedAuthenticationRestrictions")
		for _, r := range all[1:] {
			if r != nil {
				r.Append(b, "")
			}
		}
		b.End()
	}
	b.BeginArray("mechanisms")
	for _, m := range u.Mechanisms() {
		b.String("", string(m))
	}
	b.End()
	return b.Doc(), nil
}
