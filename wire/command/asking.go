package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/auth"
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

// asking is one command being compared with the privileges of who runs it. The
// command may be part of another one, as in explain.
type asking struct {
	c       *Call
	def     *Def
	db      string
	body    bson.Raw
	value   bson.Value    // of the first field of body
	message *wire.Message // whose document sequences belong to body; nil: none
	grants  *auth.Grants
	denied  bool
}

// authorize refuses commands that the user of the connection may not run.
// Errors: Unauthorized (13).
func (c *Call) authorize() error {
	l := c.currentLogin()
	if l != nil {
		c.Op.Env.UserRoles = l.rolesValue
	}
	if !c.RequireAuth || c.Def.scope == forAnybody {
		return nil
	}
	if l == nil {
		if c.firstUser() {
			return nil
		}
		return mongoerr.New(mongoerr.Unauthorized, "Command %s requires authentication", c.Name())
	}
	c.asking = asking{c: c, def: c.Def, db: c.DB, body: c.Body, value: c.Value, message: c.Msg, grants: l.grants}
	q := &c.asking
	if q.run(); q.denied {
		return c.unauthorized(c.Body)
	}
	return c.mayUse(c.Args.ID)
}

// unauthorized is the error for a command that the user may not run.
func (c *Call) unauthorized(body bson.Raw) error {
	text := "{ " + c.Name() + " }"
	if len(body) <= commandBytesMax {
		text = redact(c.Def, body).Value().String()
	}
	return mongoerr.NotAuthorized(c.DB, text)
}

// run compares the row and the arguments.
func (q *asking) run() {
	switch q.def.scope {
	case onCluster:
		q.cluster(q.def.action)
	case onDatabase:
		q.need(q.def.action, collection.Namespace{DB: q.db})
	case onNamespace:
		q.need(q.def.action, q.namespace())
	}
	if q.def.Ask != nil && !q.denied {
		q.def.Ask(q)
	}
}

// namespace is what the command names; without a valid name the command ends with
// an error of its own.
func (q *asking) namespace() collection.Namespace {
	if q.body != nil && q.c != nil && q.def == q.c.Def && q.def.Namespace == FirstField {
		return q.c.op.NS // read already
	}
	s, _ := q.value.Str()
	if q.def.Namespace == FullName {
		return collection.ParseNamespace(s)
	}
	return collection.Namespace{DB: q.db, Coll: s}
}

// need notes that an action on a namespace is needed.
func (q *asking) need(a auth.Action, ns collection.Namespace) {
	if !q.grants.May(a, ns) {
		q.denied = true
	}
}

// cluster notes that an action on the cluster is needed.
func (q *asking) cluster(a auth.Action) {
	if !q.grants.MayCluster(a) {
		q.denied = true
	}
}

// arg is an argument of the command.
func (q *asking) arg(name string) bson.Value { return q.body.Get(name) }

// docs visits the documents of an argument that comes as an array or as a document
// sequence.
func (q *asking) docs(name string, visit func(bson.Raw)) {
	if q.message != nil {
		if s, ok := q.message.Sequence(name); ok {
			for _, d := range s.AppendDocs(nil) {
				visit(d)
			}
			return
		}
	}
	list, _ := q.arg(name).Array()
	for it := list.Iter(); it.Next(); {
		if d, ok := it.Value.Doc(); ok {
			visit(d)
		}
	}
}

// other compares a command that is part of this one.
func (q *asking) other(body bson.Raw) {
	f, ok := body.First()
	if !ok {
		return
	}
	def := q.c.lookup(string(f.Name))
	if def == nil || def == q.def {
		return
	}
	inner := asking{c: q.c, def: def, db: q.db, body: body, value: f.Value, grants: q.grants}
	inner.run()
	q.denied = q.denied || inner.denied
}

// redact hides passwords and proofs in a command that somebody else may see.
func redact(d *Def, body bson.Raw) bson.Raw {
	hides := d != nil && d.Facts.has(Secret)
	if !hides && !hasField(body, "speculativeAuthenticate") {
		return body
	}
	b := bson.NewBuilder(nil)
	for it := body.Iter(); it.Next(); {
		switch string(it.Name) {
		case "pwd", "payload", "key", "nonce", "speculativeAuthenticate":
			b.String(string(it.Name), "xxx")
		default:
			b.ValueBytes(it.Name, it.Value)
		}
	}
	return b.Doc()
}
