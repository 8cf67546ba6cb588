package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/operations"
	"github.com/cantledb/cantle/wire/session"
)

// scope is what the action of a row is on.
type scope uint8

// The scopes: nothing, not even a user; a user; the cluster; the command's
// database; the namespace it names.
const (
	forAnybody scope = iota
	forUsers
	onCluster
	onDatabase
	onNamespace
)

// resolve fills in scope and action from the row's Action. It panics for an action
// that does not exist.
func (d *Def) resolve() {
	switch d.Action {
	case "":
		d.scope = forAnybody
		return
	case "user":
		d.scope = forUsers
		return
	}
	a, ok := auth.ActionNamed(d.Action)
	if !ok {
		mongoerr.Bug("command %s needs an action %q, which does not exist", d.Name, d.Action)
	}
	d.action = a
	switch {
	case a.OfCluster():
		d.scope = onCluster
	case d.Namespace == NoNamespace:
		d.scope = onDatabase
	default:
		d.scope = onNamespace
	}
}

// PrivilegeCheck is one command being compared with the privileges of who runs it. The
// command may be part of another one, as in explain.
type PrivilegeCheck struct {
	Call    *Call
	Def     *Def
	DB      string
	Body    bson.Raw
	Value   bson.Value    // of the first field of body
	message *wire.Message // whose document sequences belong to body; nil: none
	Grants  *auth.Grants
	Denied  bool
}

// authorize refuses commands that the user of the connection may not run.
// Errors: Unauthorized (13).
func (c *Call) authorize() error {
	l, err := c.Server.Hooks.Login(c)
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
		if c.Server.Hooks.FirstUser(c) {
			return nil
		}
		return mongoerr.New(mongoerr.Unauthorized, "Command %s requires authentication", c.Name())
	}
	c.privileges = PrivilegeCheck{Call: c, Def: c.Def, DB: c.DB, Body: c.Body, Value: c.Value, message: c.Msg, Grants: l.Grants}
	q := &c.privileges
	if q.run(); q.Denied {
		return c.Unauthorized(c.Body)
	}
	return c.MayUse(c.Args.ID)
}

// AuthorizeAgain refuses a command that has waited and may not run any more. It costs a comparison while nobody
// changes users and roles. Errors: as authorize.
func (c *Call) AuthorizeAgain() error {
	if l := c.Peer.Login; !c.Server.RequireAuth || l != nil && l.Version == c.Server.Auth.Version() {
		return nil
	}
	return c.authorize()
}

// Unauthorized is the error for a command that the user may not run.
func (c *Call) Unauthorized(body bson.Raw) error {
	text := "{ " + c.Name() + " }"
	if len(body) <= CommandBytesMax {
		text = operations.Redact(body, c.Server).Value().String()
	}
	return mongoerr.NotAuthorized(c.DB, text)
}

// run compares the row and the arguments.
func (q *PrivilegeCheck) run() {
	switch q.Def.scope {
	case onCluster:
		q.NeedOnCluster(q.Def.action)
	case onDatabase:
		q.Need(q.Def.action, collection.Namespace{DB: q.DB})
	case onNamespace:
		q.Need(q.Def.action, q.Namespace())
	}
	if q.Def.Privileges != nil && !q.Denied {
		q.Def.Privileges(q)
	}
}

// Namespace is what the command names; without a valid name the command ends with
// an error of its own.
func (q *PrivilegeCheck) Namespace() collection.Namespace {
	if q.Body != nil && q.Call != nil && q.Def == q.Call.Def && q.Def.Namespace == FirstField {
		return q.Call.Running.NS // read already
	}
	s, _ := q.Value.Str()
	if q.Def.Namespace == FullName {
		return collection.ParseNamespace(s)
	}
	return collection.Namespace{DB: q.DB, Coll: s}
}

// Need notes that an action on a namespace is needed.
func (q *PrivilegeCheck) Need(a auth.Action, ns collection.Namespace) {
	if !q.Grants.May(a, ns) {
		q.Denied = true
	}
}

// NeedOnCluster notes that an action on the cluster is needed.
func (q *PrivilegeCheck) NeedOnCluster(a auth.Action) {
	if !q.Grants.MayCluster(a) {
		q.Denied = true
	}
}

// Arg is an argument of the command.
func (q *PrivilegeCheck) Arg(name string) bson.Value { return q.Body.Get(name) }

// Docs visits the documents of an argument that comes as an array or as a document
// sequence.
func (q *PrivilegeCheck) Docs(name string, visit func(bson.Raw)) {
	if q.message != nil {
		if s, ok := q.message.Sequence(name); ok {
			for _, d := range s.AppendDocs(nil) {
				visit(d)
			}
			return
		}
	}
	list, _ := q.Arg(name).Array()
	for it := list.Iter(); it.Next(); {
		if d, ok := it.Value.Doc(); ok {
			visit(d)
		}
	}
}

// Nested compares a command that is part of this one.
func (q *PrivilegeCheck) Nested(body bson.Raw) {
	f, ok := body.First()
	if !ok {
		return
	}
	def := q.Call.Server.Lookup(string(f.Name))
	if def == nil || def == q.Def {
		return
	}
	inner := PrivilegeCheck{Call: q.Call, Def: def, DB: q.DB, Body: body, Value: f.Value, Grants: q.Grants}
	inner.run()
	q.Denied = q.Denied || inner.Denied
}

// CommandBytesMax is how much of a command a truncated description shows.
const CommandBytesMax = 1000

// MayUse refuses a session that names another user as its own.
// Errors: Unauthorized (13).
func (c *Call) MayUse(id session.ID) error {
	if !c.Server.RequireAuth || id.IsZero() || id.Owner == c.Peer.Owner {
		return nil
	}
	if l := c.Peer.Login; l != nil && l.Grants.MayCluster(auth.Impersonate) {
		return nil
	}
	return c.Unauthorized(c.Body)
}
