package command

import (
	"context"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/session"
)

// Operations is the commands that run now: currentOp lists them, killOp ends
// one. Each connection runs one at a time, in its slot.
type Operations struct {
	next  atomic.Int64
	slots sync.Map // connection id → *slot
}

// Operation is one running command, as it was when somebody looked.
type Operation struct {
	ID      int64
	Name    string
	NS      collection.Namespace // Coll is empty for a command on a database
	Session session.ID
	Conn    wire.Conn
	Client  *ClientInfo // nil before the connection's first hello
	InTxn   bool
	Start   time.Time
	User    string // "name@db", "" for nobody
	Def     *Def
	slot    *slot
}

// slot is where a connection lists the command it runs. Its context is made
// once and serves all commands until one is killed.
type slot struct {
	mu     sync.Mutex
	op     Operation // ID 0 between commands
	body   bson.Raw  // of the request, whose memory is reused afterwards
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// open makes the slot of a connection, close ends it.
func (o *Operations) open(conn int64, s *slot) { o.slots.Store(conn, s) }

func (o *Operations) close(conn int64) {
	if v, ok := o.slots.LoadAndDelete(conn); ok {
		if s := v.(*slot); s.cancel != nil {
			s.cancel(nil)
		}
	}
}

// enter lists the command in its connection's slot, and puts it under the
// slot's context.
func (o *Operations) enter(c *Call) {
	s := &c.Peer.slot
	c.Running = Operation{ID: o.next.Add(1), Name: c.Name(), NS: collection.Namespace{DB: c.DB}, Session: c.Args.ID,
		Conn: c.Conn, Client: c.Peer.Client.Load(), InTxn: c.Args.InTxn, Start: c.Start, User: c.Peer.User, Def: c.Def, slot: s}
	switch c.Def.Namespace {
	case FirstField:
		c.Running.NS.Coll, _ = c.Value.Str()
	case CollectionField:
		c.Running.NS.Coll, _ = c.Body.Get("collection").Str()
	}
	s.mu.Lock()
	if s.ctx == nil || s.ctx.Err() != nil {
		s.ctx, s.cancel = context.WithCancelCause(c.Ctx)
	}
	s.op, s.body = c.Running, c.Body
	c.Ctx = s.ctx
	s.mu.Unlock()
}

// leave ends the listing, and waits for whoever looks at the command's bytes.
func (o *Operations) leave(c *Call) {
	s := &c.Peer.slot
	s.mu.Lock()
	s.op, s.body = Operation{}, nil
	s.mu.Unlock()
}

// Command returns a copy of the request without its secrets, nil if it is over.
func (op *Operation) Command() bson.Raw {
	op.slot.mu.Lock()
	defer op.slot.mu.Unlock()
	if op.slot.op.ID != op.ID {
		return nil
	}
	return redact(op.Def, op.slot.body.Clone())
}

// Interrupt ends the command, unless it is over.
func (op *Operation) Interrupt(cause error) {
	op.slot.mu.Lock()
	defer op.slot.mu.Unlock()
	if op.slot.op.ID == op.ID {
		op.slot.cancel(cause)
	}
}

// Statistics are the counters of serverStatus. insert counts documents, update
// and delete statements.
type Statistics struct {
	Insert, Query, Update, Delete, Getmore, Command atomic.Int64
	Returned, Loaded                                atomic.Int64 // documents sent; documents read to find them
	BytesIn, BytesOut, Requests, Unknown            atomic.Int64
	Awaiting                                        atomic.Int32 // hellos that wait for news at the moment
}

// List returns the running commands, oldest first.
func (o *Operations) List() []*Operation {
	var list []*Operation
	o.slots.Range(func(_, v any) bool {
		s := v.(*slot)
		s.mu.Lock()
		if s.op.ID != 0 {
			op := s.op
			list = append(list, &op)
		}
		s.mu.Unlock()
		return true
	})
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}

// Kill interrupts an operation, if it still runs.
func (o *Operations) Kill(id int64, cause error) {
	for _, op := range o.List() {
		if op.ID == id {
			op.Interrupt(cause)
		}
	}
}
