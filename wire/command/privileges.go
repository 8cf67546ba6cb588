package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/operations"
	"github.com/cantledb/cantle/wire/session"
)

// scope is the kind of resource on which a user needs the action of a command's row, such as the cluster or a
// database.
type scope uint8

// The scopes of a row's action: no user needed; any user; the cluster; the database of the command; the namespace
// that the command names.
const (
	forAnybody scope = iota
	forUsers
	onCluster
	onDatabase
	onNamespace
)

// resolve fills in the fields scope, action, also and listed of the row from the names of its actions, when the row
// is added to the server. It panics if an action does not exist.
func (d *Def) resolve() {
	named := func(name string) auth.Action {
		a, ok := auth.ActionNamed(name)
		if !ok {
			mongoerr.Bug("command %s needs an action %q, which does not exist", d.Name, name)
		}
		d.listed = d.listed.Union(auth.MakeActions(a))
		return a
	}
	d.listed, d.also = auth.Actions{}, nil
	for _, n := range d.Also {
		d.also = append(d.also, named(n.Action))
	}
	for _, name := range d.ArgumentActions {
		named(name)
	}
	switch d.Action {
	case "":
		d.scope = forAnybody
		return
	case "user":
		d.scope = forUsers
		return
	}
	d.action = named(d.Action)
	switch {
	case d.action.OfCluster():
		d.scope = onCluster
	case d.Namespace == NoNamespace:
		d.scope = onDatabase
	default:
		d.scope = onNamespace
	}
}

// PrivilegeCheck compares the privileges that one command needs with the privileges of its user. The command may be
// part of another command, as in explain.
type PrivilegeCheck struct {
	Call   *Call
	Def    *Def
	DB     string
	Value  bson.Value // of the first field of the command
	Grants *auth.Grants
	Denied bool
	// Roles, if not "", names the built-in roles that grant what the user lacks, for the error of an extension. Errors
	// of MongoDB's own commands have MongoDB's text.
	Roles     string
	unread    error // the error of a part of the arguments, which ends the command
	collects  bool  // needed actions are collected in kept
	collected []auth.Needed
}

// authorize refuses a command that the user of the connection may not run, and then a command that the account of the
// address does not offer.
// Errors: Unauthorized (13), errors of checkAccount.
func (c *Call) authorize() error {
	if err := c.authorizeUser(); err != nil {
		return err
	}
	return c.checkAccount()
}

func (c *Call) authorizeUser() error {
	l, err := c.Server.Authenticator.Login(c)
	if err != nil {
		return err
	}
	if l != nil {
		c.Op.Env.UserRoles = l.RolesValue
	}
	if !c.Server.RequireAuth || c.Def.scope == forAnybody {
		return nil
	}
	if l == nil {
		if c.Server.Authenticator.FirstUser(c) {
			return nil
		}
		return mongoerr.New(mongoerr.Unauthorized, "Command %s requires authentication", c.Name())
	}
	c.privileges = PrivilegeCheck{Call: c, Def: c.Def, DB: c.DB, Value: c.Value, Grants: l.Grants}
	q := &c.privileges
	if q.row(); q.Denied {
		return c.Unauthorized(c.Body)
	}
	return c.MayUse(c.Args.ID)
}

// AuthorizeAgain repeats authorize for a command that has waited, because users and roles may have changed. If they
// have not changed, this costs one comparison. Errors: as authorize.
func (c *Call) AuthorizeAgain() error {
	if l := c.ConnState.Login; !c.Server.RequireAuth || l != nil && l.Version == c.Server.Auth.Version() {
		return nil
	}
	return c.authorize()
}

// authorizeRequest refuses a command whose arguments need more privileges than its user has. A command with invalid
// arguments needs no privileges here, because it does not run.
// Errors: Unauthorized (13).
func (c *Call) authorizeRequest() error {
	if c.request == nil || c.privileges.Call == nil {
		return nil
	}
	q := &c.privileges
	if c.request.Needs(q); q.Denied {
		err := c.Unauthorized(c.Body)
		if q.Roles != "" {
			err.Msg += "; this is granted by " + q.Roles
		}
		return err
	}
	c.unread = q.unread
	return nil
}

// Require refuses a running command whose user lacks privileges that were unknown before: on the collection that a
// UUID names, or on all collections of a database. needs notes these privileges.
// Errors: Unauthorized (13).
func (c *Call) Require(needs func(q *PrivilegeCheck)) error {
	if c.privileges.Call == nil {
		return nil
	}
	q := PrivilegeCheck{Call: c, Def: c.privileges.Def, DB: c.DB, Grants: c.privileges.Grants}
	if needs(&q); q.Denied {
		return c.Unauthorized(c.Body)
	}
	return nil
}

// needed returns the actions that the command needs; nil if its privileges were not checked. A cursor stores them, so
// that MayStill can check them at each getMore.
func (c *Call) needed() []auth.Needed {
	if c.privileges.Call == nil {
		return nil
	}
	q := PrivilegeCheck{Call: c, Def: c.Def, DB: c.DB, Value: c.Value, Grants: c.privileges.Grants, collects: true}
	if q.row(); c.request != nil {
		c.request.Needs(&q)
	}
	return q.collected
}

// MayStill refuses a getMore if its user has lost an action that the command which opened the cursor needed.
// Errors: Unauthorized (13).
func (c *Call) MayStill(needed []auth.Needed) error {
	if !c.Server.RequireAuth {
		return nil
	}
	for _, n := range needed {
		if l := c.ConnState.Login; l == nil || !l.Grants.Has(n) {
			return c.Unauthorized(c.Body)
		}
	}
	return nil
}

// Unauthorized returns the error for a command that its user may not run. The text of the error has no secrets.
func (c *Call) Unauthorized(body bson.Raw) *mongoerr.Error {
	text := "{ " + c.Name() + " }"
	if len(body) <= CommandBytesMax {
		text = operations.Redact(body, c.Server).Value().String()
	}
	return mongoerr.NotAuthorized(c.DB, text)
}

// row checks the actions that the row names.
func (q *PrivilegeCheck) row() {
	switch q.Def.scope {
	case onCluster:
		q.NeedOnCluster(q.Def.action)
	case onDatabase:
		q.Need(q.Def.action, collection.Namespace{DB: q.DB})
	case onNamespace:
		q.Need(q.Def.action, q.Namespace())
	}
	for i, a := range q.Def.also {
		if on := q.Def.Also[i].On; on == (collection.Namespace{}) {
			q.NeedOnCluster(a)
		} else {
			q.Need(a, on)
		}
	}
}

// Namespace returns the namespace that the command names. If the name is invalid, no error is returned here: the
// command fails with its own error later.
func (q *PrivilegeCheck) Namespace() collection.Namespace {
	if isUUID(q.Value) {
		q.needUUID()
		return q.Call.byUUID(q.DB, q.Value)
	}
	if q.Def == q.Call.Def && q.Def.Namespace == FirstField {
		return q.Call.Running.NS // the text of the same value
	}
	s, _ := q.Value.Str()
	if q.Def.Namespace == FullName {
		return collection.ParseNamespace(s)
	}
	return collection.Namespace{DB: q.DB, Coll: s}
}

// needUUID notes the privilege useUUID on the cluster, which every command needs if it names a collection by its
// UUID.
func (q *PrivilegeCheck) needUUID() {
	q.need(auth.Needed{Action: auth.UseUUID, Reach: auth.TheCluster})
}

// Need notes that the command needs an action on a namespace, or on a database if ns.Coll is "". If the user lacks
// it, the check is denied.
func (q *PrivilegeCheck) Need(a auth.Action, ns collection.Namespace) {
	q.listed(a)
	q.need(auth.Needed{Action: a, On: ns})
}

// NeedOnCluster notes that an action on the cluster is needed.
func (q *PrivilegeCheck) NeedOnCluster(a auth.Action) {
	q.listed(a)
	q.need(auth.Needed{Action: a, Reach: auth.TheCluster})
}

// NeedEverywhere notes that the command needs an action on all databases and collections. If the user lacks it, the
// check is denied.
func (q *PrivilegeCheck) NeedEverywhere(a auth.Action) {
	q.listed(a)
	q.need(auth.Needed{Action: a, Reach: auth.Everywhere})
}

// May reports whether the user has an action on a namespace, without denying the check: for commands where one of
// several actions is enough.
func (q *PrivilegeCheck) May(a auth.Action, ns collection.Namespace) bool {
	q.listed(a)
	return q.Grants.May(a, ns)
}

// MayOnCluster reports whether the user has an action on the cluster, without denying the check.
func (q *PrivilegeCheck) MayOnCluster(a auth.Action) bool {
	q.listed(a)
	return q.Grants.MayCluster(a)
}

// MayEverywhere reports whether the user has an action on all databases and collections, without denying the check.
func (q *PrivilegeCheck) MayEverywhere(a auth.Action) bool {
	q.listed(a)
	return q.Grants.MayEverywhere(a)
}

// need sets Denied if the user lacks a privilege.
func (q *PrivilegeCheck) need(n auth.Needed) {
	if q.collects {
		q.collected = append(q.collected, n)
	}
	if !q.Grants.Has(n) {
		q.Denied = true
	}
}

// listed panics if the row of the command does not list action a. So the tables of privileges that are printed from
// the rows are complete.
func (q *PrivilegeCheck) listed(a auth.Action) {
	if !q.Def.listed.Has(a) {
		mongoerr.Bug("command %s needs the action %s, which its row does not list", q.Def.Name, a)
	}
}

// Part checks a command that is part of this command.
func (q *PrivilegeCheck) Part(p *Part) {
	f, _ := p.Body.First()
	inner := PrivilegeCheck{Call: q.Call, Def: p.Def, DB: p.DB, Value: f.Value, Grants: q.Grants}
	if inner.row(); p.Request != nil && !inner.Denied {
		p.Request.Needs(&inner)
	}
	q.Denied = q.Denied || inner.Denied
	if q.unread == nil {
		q.unread = inner.unread
	}
}

// CommandBytesMax is the number of bytes up to which error texts show a whole command, and currentOp, and $currentOp
// with truncateOps. Of a longer one they show only a part, or its name.
const CommandBytesMax = 1000

// MayUse refuses a session that belongs to another user, unless the command's user has the action impersonate.
// Errors: Unauthorized (13).
func (c *Call) MayUse(id session.ID) error {
	if !c.Server.RequireAuth || id.IsZero() || id.Owner == c.ConnState.Owner {
		return nil
	}
	if l := c.ConnState.Login; l != nil && l.Grants.MayCluster(auth.Impersonate) {
		return nil
	}
	return c.Unauthorized(c.Body)
}
