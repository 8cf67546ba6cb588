package command

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
)

// Request is a command whose arguments have been read once, so that its authorization and its execution use the same
// values.
type Request interface {
	// Needs notes the privilege actions that the user needs in addition to the Action of the row: it calls Need or
	// another method of q for each namespace and action.
	Needs(q *PrivilegeCheck)
	// Run executes the command with its arguments.
	Run(c *Call) error
}

// NewRequest returns a Request made of two functions.
func NewRequest(needs func(q *PrivilegeCheck), run func(c *Call) error) Request {
	return funcRequest{needs, run}
}

type funcRequest struct {
	needs func(q *PrivilegeCheck)
	run   func(c *Call) error
}

func (r funcRequest) Needs(q *PrivilegeCheck) { r.needs(q) }
func (r funcRequest) Run(c *Call) error       { return r.run(c) }

// read reads the arguments of a command whose row has a Parse, and refuses the command if its user may not run it
// with these arguments. An error of Parse is not returned but stored, and perform returns it later, so that it ends a
// transaction as any other error does.
// Errors: Unauthorized (13).
func (c *Call) read() error {
	c.request, c.unread = c.Def.read(c)
	return c.authorizeRequest()
}

// read reads the arguments of a command by its row's Parse. r is nil if the row has no Parse, and after an error.
func (d *Def) read(c *Call) (r Request, err error) {
	if d.Parse == nil {
		return nil, nil
	}
	if r, err = d.Parse(c); err != nil {
		return nil, err
	}
	return r, nil
}

// perform runs a command of the row, by Run of the row or of the Request. r and unread are the results of read; if
// unread is an error, perform returns it.
func (d *Def) perform(c *Call, r Request, unread error) error {
	switch {
	case unread != nil:
		return unread
	case d.Parse == nil:
		return d.Run(c)
	}
	return r.Run(c)
}

// Part is a command inside another command, as in explain and applyOps. Its arguments are read like those of a
// command that a client sends.
type Part struct {
	Def     *Def
	DB      string
	Body    bson.Raw
	Request Request // nil if the row has no Parse, or after an error
	Err     error   // the error of reading the arguments
	rawData bool    // as in Call
}

// Part reads a command inside this command, with the arguments in body and the database db. Such a command has no
// document sequences.
// Errors: CommandNotFound (59).
func (c *Call) Part(db string, body bson.Raw) (*Part, error) {
	first, _ := body.First()
	def := c.Server.Lookup(string(first.Name))
	if def == nil {
		return nil, mongoerr.NoCommand(string(first.Name))
	}
	p := &Part{Def: def, DB: db, Body: body}
	if name, twice := body.Repeated(); twice {
		p.Err = mongoerr.RepeatedField(def.Name + "." + string(name))
		return p, nil
	}
	p.Within(c, func() error {
		if v, ok := body.Lookup("rawData"); ok {
			if p.rawData, p.Err = c.StrictBool("rawData", v); p.Err != nil {
				return nil
			}
			c.rawData = c.rawData || p.rawData
		}
		p.Request, p.Err = def.read(c)
		return nil
	})
	return p, nil
}

// Within calls fn while c has the row, arguments and database of the part, and then restores those of the whole
// command.
func (p *Part) Within(c *Call, fn func() error) error {
	def, value, own, db, raw := c.Def, c.Value, c.Reader, c.DB, c.rawData
	defer func() {
		c.Def, c.Value, c.Reader, c.DB, c.rawData = def, value, own, db, raw
		c.Env().DB = db
	}()
	c.BecomePart(p)
	c.DB, c.Msg = p.DB, &wire.Message{Header: own.Msg.Header}
	c.Env().DB = p.DB
	return fn()
}

// Run runs the part.
func (p *Part) Run(c *Call) error {
	return p.Within(c, func() error { return p.Def.perform(c, p.Request, p.Err) })
}
