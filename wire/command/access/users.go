package access

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/arguments"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// userArgs holds the arguments of createUser and updateUser.
type userArgs struct {
	name                           auth.Name
	pwd                            string
	digested                       bool // pwd is a digest of the password, as the function Digest computes it
	roles                          []auth.Name
	customData                     bson.Raw
	mechanisms                     []auth.Mechanism
	restrictions                   auth.Restrictions
	hasPwd, hasRoles, hasData      bool
	hasMechanisms, hasRestrictions bool
	requestMax                     ratelimit.MicroRU
	hasRequestMax                  bool
}

// entryName reads the first field of a command on a user or role: its name in the command's database.
// Errors: TypeMismatch (14), BadValue (2).
func entryName(c *command.Call) (auth.Name, error) {
	if c.Value.Type != bson.TypeString {
		return auth.Name{}, mongoerr.WrongType(c.Field(c.Name()), c.Value.Type.String(), "string")
	}
	s, _ := c.Value.Str()
	return auth.Name{Name: s, DB: c.DB}, checkEntryName(s)
}

// entryNameMax bounds the names of users and roles.
const entryNameMax = 1024

// checkEntryName refuses an invalid name of a user or role. Errors: BadValue (2).
func checkEntryName(s string) error {
	switch {
	case s == "":
		return mongoerr.New(mongoerr.BadValue, "A user or role must have a name")
	case strings.ContainsRune(s, 0):
		return mongoerr.New(mongoerr.BadValue, "Username cannot contain NULL characters")
	case len(s) > entryNameMax:
		return mongoerr.New(mongoerr.BadValue, "The name of a user or role may have at most %d bytes", entryNameMax)
	}
	return nil
}

// parseUserArgs reads the arguments of createUser and updateUser.
func parseUserArgs(c *command.Call) (a *userArgs, err error) {
	a = &userArgs{}
	if a.name, err = entryName(c); err != nil {
		return a, err
	}
	digest, digestGiven := false, false
	err = c.ReadArgs(
		arguments.String("pwd", &a.pwd).Given(&a.hasPwd),
		arguments.Bool("digestPassword", &digest).Given(&digestGiven),
		arguments.By("roles", func(v bson.Value) (err error) { a.roles, err = namesArg(c, "roles", "role", v); return err }).Given(&a.hasRoles),
		arguments.Doc("customData", &a.customData).Given(&a.hasData),
		arguments.By("mechanisms", func(v bson.Value) (err error) {
			a.mechanisms, err = mechanismsArg(c, "mechanisms", v)
			return err
		}).Given(&a.hasMechanisms),
		arguments.By("authenticationRestrictions", func(v bson.Value) (err error) {
			a.restrictions, err = auth.ParseRestrictions(v)
			return err
		}).Given(&a.hasRestrictions),
		requestMaxArg(c, &a.requestMax, &a.hasRequestMax),
	)
	a.digested = digestGiven && !digest
	a.customData = a.customData.Clone()
	return a, err
}

// requestMaxArg is the argument with the default cap of the commands of a user or role.
func requestMaxArg(c *command.Call, to *ratelimit.MicroRU, given *bool) arguments.Arg {
	return arguments.By("defaultMaxRequestUnits", func(v bson.Value) (err error) {
		*to, err = c.RequestUnitsArg("defaultMaxRequestUnits", v)
		return err
	}).Given(given)
}

// namesArg reads an argument with an array of user or role names. A string is a name in the command's database, a
// document has the fields kind ("user" or "role") and db. Duplicates are removed.
// Errors: TypeMismatch (14), BadValue (2), IDLFailedToParse (40414), IDLUnknownField (40415).
func namesArg(c *command.Call, field, kind string, v bson.Value) ([]auth.Name, error) {
	if v.IsMissing() {
		return nil, nil
	}
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.WrongType(c.Field(field), v.Type.String(), "array")
	}
	var names []auth.Name
	for v := range list.Values() {
		if err := c.Env().Spend(nameWork + len(v.Data)); err != nil {
			return nil, err
		}
		n, err := nameOf(c, field, kind, v)
		if err != nil {
			return nil, err
		}
		names = append(names, n)
	}
	return addNames(nil, names), nil
}

// nameWork is the work for reading one name in an array, besides that for its text, in the bytes that Spend counts.
const nameWork = 512

// nameOf reads the name of a user or role in an argument. A string is a name in the command's database, a document
// has the fields kind ("user" or "role") and db.
func nameOf(c *command.Call, field, kind string, v bson.Value) (n auth.Name, err error) {
	if s, ok := v.Str(); ok && v.Type == bson.TypeString {
		return auth.Name{Name: s, DB: c.DB}, checkEntryName(s)
	}
	d, ok := v.Doc()
	if !ok || v.Type != bson.TypeDocument {
		return n, mongoerr.New(mongoerr.BadValue, "%s must be names or documents with %s and db, but found %s", field, kind, v.Type)
	}
	if name, twice := d.Repeated(); twice {
		return n, mongoerr.RepeatedField(c.Field(field) + "." + string(name))
	}
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		if name != kind && name != "db" {
			return n, mongoerr.UnknownField(c.Field(field) + "." + name)
		}
		s, ok := it.Value.Str()
		if !ok || it.Value.Type != bson.TypeString {
			return n, mongoerr.WrongType(c.Field(field)+"."+name, it.Value.Type.String(), "string")
		}
		if name == "db" {
			n.DB = s
		} else {
			n.Name = s
		}
	}
	switch {
	case !d.Has(kind):
		return n, mongoerr.MissingField(c.Field(field) + "." + kind)
	case !d.Has("db"):
		return n, mongoerr.MissingField(c.Field(field) + ".db")
	}
	return n, checkEntryName(n.Name)
}

func mechanismsArg(c *command.Call, field string, v bson.Value) ([]auth.Mechanism, error) {
	if v.IsMissing() {
		return nil, nil
	}
	list, ok := v.Array()
	if !ok {
		return nil, mongoerr.WrongType(c.Field(field), v.Type.String(), "array")
	}
	if list.IsEmpty() {
		return nil, mongoerr.New(mongoerr.BadValue, "mechanisms field must not be empty")
	}
	var out []auth.Mechanism
	for v := range list.Values() {
		s, ok := v.Str()
		if !ok || v.Type != bson.TypeString {
			return nil, mongoerr.WrongType(c.Field(field), v.Type.String(), "string")
		}
		m := auth.Mechanism(s)
		switch {
		case m != auth.ScramSHA1 && m != auth.ScramSHA256:
			return nil, mongoerr.New(mongoerr.BadValue, "Unknown auth mechanism '%s'", s)
		case slices.Contains(out, m):
			return nil, mongoerr.New(mongoerr.BadValue, "Duplicate mechanism '%s'", s)
		}
		out = append(out, m)
	}
	return out, nil
}

// parseCredentials returns the stored form of a password for each mechanism in the arguments; without that argument for
// both SCRAM mechanisms, but for a digested password only for SCRAM-SHA-1. Errors: BadValue (2).
func parseCredentials(c *command.Call, a *userArgs) (map[auth.Mechanism]auth.Credential, error) {
	list := a.mechanisms
	if list == nil {
		list = []auth.Mechanism{auth.ScramSHA1, auth.ScramSHA256}
		if a.digested {
			list = list[:1]
		}
	}
	if a.pwd == "" {
		return nil, mongoerr.New(mongoerr.BadValue, "Password cannot be empty")
	}
	out := map[auth.Mechanism]auth.Credential{}
	for _, m := range list {
		if m != auth.ScramSHA1 && a.digested {
			return nil, mongoerr.New(mongoerr.BadValue, "Use of SCRAM-SHA-256 requires undigested passwords")
		}
		cred, err := auth.NewCredential(m, a.name.Name, a.pwd, a.digested, iterations(c.Server, m))
		if err != nil {
			return nil, err
		}
		out[m] = cred
	}
	return out, nil
}

// iterations returns the iteration count for credentials of new users.
func iterations(s *command.Server, m auth.Mechanism) int {
	if m == auth.ScramSHA1 {
		return int(s.Settings.Parameter("scramIterationCount"))
	}
	return int(s.Settings.Parameter("scramSHA256IterationCount"))
}

// checkRoles refuses roles that do not exist. Errors: RoleNotFound (31).
func checkRoles(d *auth.Directory, roles []auth.Name) error {
	for _, r := range roles {
		if !d.HasRole(r) {
			return mongoerr.New(mongoerr.RoleNotFound, "Could not find role: %s", r)
		}
	}
	return nil
}

// noUser returns the error that a user does not exist. Errors: UserNotFound (11).
func noUser(n auth.Name) error {
	return mongoerr.New(mongoerr.UserNotFound, "User '%s' not found", n)
}

// createRequest is a createUser with parsed arguments.
type createRequest struct{ *userArgs }

func parseCreateUser(c *command.Call) (command.Request, error) {
	a, err := parseUserArgs(c)
	return &createRequest{a}, err
}

// Needs notes the privileges of a createUser: to grant the new user its roles, and to restrict its addresses.
func (r *createRequest) Needs(q *command.PrivilegeCheck) {
	onRoles(q, auth.GrantRole, r.roles)
	onRestrictions(q, r.name, r.hasRestrictions)
	onRequestMax(q, r.name, r.hasRequestMax)
}

// Run creates the user. Manual: reference/command/createUser.
// Errors: IDLFailedToParse (40414), BadValue (2), Unauthorized (13), RoleNotFound (31), 51003 if a user of that name
// exists.
func (r *createRequest) Run(c *command.Call) (err error) {
	a := r.userArgs
	switch {
	case !a.hasRoles:
		return mongoerr.MissingField(c.Field("roles"))
	case c.DB == "local":
		return mongoerr.New(mongoerr.BadValue, "Cannot create users in the local database")
	case c.DB == auth.External && a.hasPwd:
		return mongoerr.New(mongoerr.BadValue, "Cannot set the password for users defined on the '$external' database")
	case c.DB == auth.External && a.hasMechanisms:
		return mongoerr.New(mongoerr.BadValue, "Cannot set mechanisms for users defined on the '$external' database")
	case c.DB != auth.External && !a.hasPwd:
		return mongoerr.New(mongoerr.BadValue, "Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db")
	}
	u := &auth.User{Name: a.name, ID: auth.NewUserID(), Roles: a.roles, CustomData: a.customData, Restrictions: a.restrictions, RequestMax: a.requestMax}
	if a.hasPwd {
		if u.Credentials, err = parseCredentials(c, a); err != nil {
			return err
		}
	}
	return c.Server.Auth.Change(c.Ctx, func(e *auth.Edit) error {
		if e.User(u.Name) != nil {
			return mongoerr.New(51003, "User \"%s\" already exists", u.Name)
		}
		if c.Server.RequireAuth && c.ConnState.Login == nil && !e.Empty() {
			return mongoerr.New(mongoerr.Unauthorized, "Command %s requires authentication", c.Name()) // another client was faster
		}
		e.PutUser(u)
		return checkRoles(e.Directory, u.Roles)
	})
}

// updateRequest is an updateUser with parsed arguments.
type updateRequest struct{ *userArgs }

func parseUpdateUser(c *command.Call) (command.Request, error) {
	a, err := parseUserArgs(c)
	return &updateRequest{a}, err
}

// Needs notes the privileges of an updateUser, by the fields that change. Users may change their own password and
// custom data if a role allows that.
func (r *updateRequest) Needs(q *command.PrivilegeCheck) {
	db := collection.Namespace{DB: r.name.DB}
	own := q.Call.ConnState.User.Called(r.name.Name, r.name.DB)
	either := func(all, mine auth.Action) {
		if !own || !q.May(mine, db) {
			q.Need(all, db)
		}
	}
	if r.hasPwd || r.hasMechanisms {
		either(auth.ChangePassword, auth.ChangeOwnPassword)
	}
	if r.hasData {
		either(auth.ChangeCustomData, auth.ChangeOwnCustomData)
	}
	if r.hasRoles {
		q.NeedEverywhere(auth.RevokeRole)
		onRoles(q, auth.GrantRole, r.roles)
	}
	onRestrictions(q, r.name, r.hasRestrictions)
	onRequestMax(q, r.name, r.hasRequestMax)
}

// Run changes the fields of a user that the command contains.
// Manual: reference/command/updateUser. Errors: BadValue (2), UserNotFound (11), RoleNotFound (31).
func (r *updateRequest) Run(c *command.Call) (err error) {
	a := r.userArgs
	switch {
	case !a.hasPwd && !a.hasRoles && !a.hasData && !a.hasMechanisms && !a.hasRestrictions && !a.hasRequestMax:
		return mongoerr.New(mongoerr.BadValue, "Must specify at least one field to update in updateUser")
	case c.DB == auth.External && (a.hasPwd || a.hasMechanisms):
		return mongoerr.New(mongoerr.BadValue, "Cannot set the password for users defined on the '$external' database")
	}
	was := c.Server.Auth.User(a.name)
	if was == nil {
		return noUser(a.name)
	}
	var credentials map[auth.Mechanism]auth.Credential
	switch {
	case a.hasPwd:
		if credentials, err = parseCredentials(c, a); err != nil {
			return err
		}
	case a.hasMechanisms:
		credentials = map[auth.Mechanism]auth.Credential{}
		for _, m := range a.mechanisms {
			cred, ok := was.Credentials[m]
			if !ok {
				return mongoerr.New(mongoerr.BadValue, "mechanisms field must be a subset of previously set mechanisms")
			}
			credentials[m] = cred
		}
	}
	return changeUser(c, a.name, func(e *auth.Edit, u *auth.User) error {
		if credentials != nil {
			u.Credentials = credentials
		}
		if a.hasData {
			u.CustomData = a.customData
		}
		if a.hasRestrictions {
			u.Restrictions = a.restrictions
		}
		if a.hasRequestMax {
			u.RequestMax = a.requestMax
		}
		if a.hasRoles {
			u.Roles = a.roles
		}
		return checkRoles(e.Directory, a.roles)
	})
}

// changeUser applies fn to a copy of a user, and stores the copy.
// Errors: UserNotFound (11), errors of fn.
func changeUser(c *command.Call, n auth.Name, fn func(e *auth.Edit, u *auth.User) error) error {
	return c.Server.Auth.Change(c.Ctx, func(e *auth.Edit) error {
		was := e.User(n)
		if was == nil {
			return noUser(n)
		}
		u := *was
		if err := fn(e, &u); err != nil {
			return err
		}
		e.PutUser(&u)
		return nil
	})
}

// runDropUser removes a user; the connections of the user are logged out at their next command.
// Manual: reference/command/dropUser. Errors: UserNotFound (11).
func runDropUser(c *command.Call) error {
	n, err := entryName(c)
	if err == nil {
		err = c.NoArguments()
	}
	if err != nil {
		return err
	}
	return c.Server.Auth.Change(c.Ctx, func(e *auth.Edit) error {
		if e.User(n) == nil {
			return noUser(n)
		}
		e.DropUser(n)
		return nil
	})
}

// runDropAllUsers removes the users of a database.
// Manual: reference/command/dropAllUsersFromDatabase.
func runDropAllUsers(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	var gone []*auth.User
	err := c.Server.Auth.Change(c.Ctx, func(e *auth.Edit) error {
		gone = c.Server.Auth.Users(c.DB)
		for _, u := range gone {
			e.DropUser(u.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.Reply.Int32("n", int32(len(gone)))
	return nil
}

// parseRoleChange reads a command that grants roles to a user or role, or revokes them; run executes it. The
// command's user needs action a on the database of each role.
func parseRoleChange(c *command.Call, a auth.Action, run func(c *command.Call, n auth.Name, roles []auth.Name) error) (command.Request, error) {
	n, roles, err := rolesArg(c)
	needs := func(q *command.PrivilegeCheck) { onRoles(q, a, roles) }
	return command.NewRequest(needs, func(c *command.Call) error { return run(c, n, roles) }), err
}

// rolesArg reads the arguments of the commands that grant and revoke roles: the name of the user or role, and the
// non-empty array roles.
func rolesArg(c *command.Call) (n auth.Name, roles []auth.Name, err error) {
	if n, err = entryName(c); err != nil {
		return n, nil, err
	}
	err = c.ReadArgs(arguments.By("roles", func(v bson.Value) (err error) {
		roles, err = namesArg(c, "roles", "role", v)
		return err
	}).Required())
	if err == nil && len(roles) == 0 {
		err = mongoerr.New(mongoerr.BadValue, "%s command requires a non-empty \"roles\" array", c.Name())
	}
	return n, roles, err
}

// parseGrantRolesToUser reads a command that adds roles to a user.
// Manual: reference/command/grantRolesToUser. Errors when the request runs: UserNotFound (11), RoleNotFound (31).
func parseGrantRolesToUser(c *command.Call) (command.Request, error) {
	return parseRoleChange(c, auth.GrantRole, func(c *command.Call, n auth.Name, roles []auth.Name) error {
		return changeUser(c, n, func(e *auth.Edit, u *auth.User) error {
			u.Roles = addNames(u.Roles, roles)
			return checkRoles(e.Directory, roles)
		})
	})
}

// parseRevokeRolesFromUser reads a command that removes roles from a user.
// Manual: reference/command/revokeRolesFromUser. Errors when the request runs: UserNotFound (11), RoleNotFound (31).
func parseRevokeRolesFromUser(c *command.Call) (command.Request, error) {
	return parseRoleChange(c, auth.RevokeRole, func(c *command.Call, n auth.Name, roles []auth.Name) error {
		return changeUser(c, n, func(e *auth.Edit, u *auth.User) error {
			u.Roles = withoutNames(u.Roles, roles)
			return checkRoles(e.Directory, roles)
		})
	})
}

// addNames returns a new list with additional names, each once.
func addNames(list, more []auth.Name) []auth.Name {
	out := slices.Clone(list)
	has := nameSet(list)
	for _, n := range more {
		if !has[n] {
			has[n] = true
			out = append(out, n)
		}
	}
	return out
}

// withoutNames returns a new list without some names.
func withoutNames(list, less []auth.Name) (out []auth.Name) {
	gone := nameSet(less)
	for _, n := range list {
		if !gone[n] {
			out = append(out, n)
		}
	}
	return out
}

// nameSet returns a set of the names, for fast lookups.
func nameSet(list []auth.Name) map[auth.Name]bool {
	set := make(map[auth.Name]bool, len(list))
	for _, n := range list {
		set[n] = true
	}
	return set
}

// runInvalidateUserCache makes every connection look up its privileges again at its next command. It is hardly
// needed: every change of users and roles has the same effect.
// Manual: reference/command/invalidateUserCache.
func runInvalidateUserCache(c *command.Call) error {
	if err := c.NoArguments(); err != nil {
		return err
	}
	c.Server.Auth.Invalidate()
	return nil
}
