package access

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// usersInfoArgs holds the arguments of usersInfo.
type usersInfoArgs struct {
	credentials, privileges, restrictions bool
	customData                            bool
	filter                                bson.Raw

	selection
}

// selection is the set of users or roles that the first field of usersInfo or rolesInfo requests.
type selection struct {
	all        bool // the users of all databases
	ofDatabase bool // the users or roles of the command's database
	names      []auth.Name
}

// needs notes that the command needs action a for the selected users or roles, except for names for which own returns
// true: these the user may always see.
func (x *selection) needs(q *command.PrivilegeCheck, a auth.Action, own func(auth.Name) bool) {
	if x.all {
		q.NeedEverywhere(a)
	}
	if x.ofDatabase {
		q.Need(a, collection.Namespace{DB: q.DB})
	}
	for _, n := range x.names {
		if !own(n) {
			q.Need(a, collection.Namespace{DB: n.DB})
		}
	}
}

// parseUsersInfo reads the arguments of usersInfo.
func parseUsersInfo(c *command.Call) (command.Request, error) {
	a := &usersInfoArgs{customData: true}
	err := c.ReadArgs(
		arguments.Bool("showCredentials", &a.credentials),
		arguments.Bool("showPrivileges", &a.privileges),
		arguments.Bool("showAuthenticationRestrictions", &a.restrictions),
		arguments.Bool("showCustomData", &a.customData),
		arguments.String("authenticatedMechanism", nil), // users of all mechanisms are stored in the same place
		arguments.Doc("filter", &a.filter),
	)
	if err == nil {
		a.selection, err = selectUsers(c)
	}
	return a, err
}

// Needs notes the privilege viewUser of a usersInfo; every user may see itself without it.
func (a *usersInfoArgs) Needs(q *command.PrivilegeCheck) {
	a.needs(q, auth.ViewUser, func(n auth.Name) bool { return q.Call.ConnState.User.Called(n.Name, n.DB) })
}

// Run replies with descriptions of one user, several users, or all users of a database or of the server.
// Manual: reference/command/usersInfo. Errors: BadValue (2), BSONObjectTooLarge (10334), errors of match.Keeper.
func (a *usersInfoArgs) Run(c *command.Call) (err error) {
	listed := a.all || a.ofDatabase
	users := a.users(c)
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
		d, err := userInfo(c, u, a)
		if err != nil {
			return err
		}
		ok, err := keeps(d)
		if err != nil {
			return err
		}
		if ok {
			c.Reply.Raw("", d)
			if err := c.CheckReplySize(); err != nil {
				return err
			}
		}
	}
	c.Reply.End()
	return nil
}

// selectUsers reads the first field of usersInfo: 1 for all users of the database, forAllDBs, a user, or several
// users. Errors: TypeMismatch (14), BadValue (2), IDLFailedToParse (40414), IDLUnknownField (40415).
func selectUsers(c *command.Call) (x selection, err error) {
	if c.Value.IsNumber() {
		if n, ok := c.Value.AsInt64(); !ok || n != 1 {
			return x, mongoerr.New(mongoerr.BadValue, "usersInfo takes 1, a name, or names")
		}
		x.ofDatabase = true
		return x, nil
	}
	if d, ok := c.Value.Doc(); ok && c.Value.Type == bson.TypeDocument && d.Has("forAllDBs") {
		if b, ok := d.Get("forAllDBs").Boolean(); !ok || !b || d.Len() != 1 {
			return x, mongoerr.New(mongoerr.BadValue, "forAllDBs must be true and stand alone")
		}
		x.all = true
		return x, nil
	}
	x.names, err = namesOf(c, "user")
	return x, err
}

// users returns the selected users that exist.
func (x *selection) users(c *command.Call) (users []*auth.User) {
	switch {
	case x.all:
		return c.Server.Auth.Users("")
	case x.ofDatabase:
		return c.Server.Auth.Users(c.DB)
	}
	for _, n := range x.names {
		if u := c.Server.Auth.User(n); u != nil {
			users = append(users, u)
		}
	}
	return users
}

// namesOf reads the first field of usersInfo or rolesInfo as a name or an array of names. kind is "user" or "role".
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

// userInfo returns the description of one user for the reply of usersInfo. Errors: the reason why the command must
// end.
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
	auth.AppendRequestMax(b, u.RequestMax)
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
