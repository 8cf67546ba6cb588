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

// operations is the commands that run now: currentOp lists them, killOp ends
// one. Each connection runs one at a time, in its slot.
type operations struct {
	next  atomic.Int64
	slots sync.Map // connection id → *slot
}

// operation is one running command, as it was when somebody looked.
type operation struct {
	ID      int64
	Name    string
	NS      collection.Namespace // Coll is empty for a command on a database
	Session session.ID
	Conn    wire.Conn
	Client  *clientInfo // nil before the connection's first hello
	InTxn   bool
	Start   time.Time
	User    string // "name@db", "" for nobody
	def     *Def
	slot    *slot
}

// slot is where a connection lists the command it runs. Its context is made
// once and serves all commands until one is killed.
type slot struct {
	mu     sync.Mutex
	op     operation // ID 0 between commands
	body   bson.Raw  // of the request, whose memory is reused afterwards
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// open makes the slot of a connection, close ends it.
func (o *operations) open(conn int64, s *slot) { o.slots.Store(conn, s) }

func (o *operations) close(conn int64) {
	if v, ok := o.slots.LoadAndDelete(conn); ok {
		if s := v.(*slot); s.cancel != nil {
			s.cancel(nil)
		}
	}
}

// enter lists the command in its connection's slot, and puts it under the
// slot's context.
func (o *operations) enter(c *Call) {
	s := &c.Peer.slot
	c.op = operation{ID: o.next.Add(1), Name: c.Name(), NS: collection.Namespace{DB: c.DB}, Session: c.Args.ID,
		Conn: c.Conn, Client: c.Peer.client.Load(), InTxn: c.Args.InTxn, Start: c.Start, User: c.Peer.user, def: c.Def, slot: s}
	switch c.Def.Namespace {
	case FirstField:
		c.op.NS.Coll, _ = c.Value.Str()
	case CollectionField:
		c.op.NS.Coll, _ = c.Body.Get("collection").Str()
	}
	s.mu.Lock()
	if s.ctx == nil || s.ctx.Err() != nil {
		s.ctx, s.cancel = context.WithCancelCause(c.Ctx)
	}
	s.op, s.body = c.op, c.Body
	c.Ctx = s.ctx
	s.mu.Unlock()
}

// leave ends the listing, and waits for whoever looks at the command's bytes.
func (o *operations) leave(c *Call) {
	s := &c.Peer.slot
	s.mu.Lock()
	s.op, s.body = operation{}, nil
	s.mu.Unlock()
}

// command returns a copy of the request without its secrets, nil if it is over.
func (op *operation) command() bson.Raw {
	op.slot.mu.Lock()
	defer op.slot.mu.Unlock()
	if op.slot.op.ID != op.ID {
		return nil
	}
	return redact(op.def, op.slot.body.Clone())
}

// interrupt ends the command, unless it is over.
func (op *operation) interrupt(cause error) {
	op.slot.mu.Lock()
	defer op.slot.mu.Unlock()
	if op.slot.op.ID == op.ID {
		op.slot.cancel(cause)
	}
}

// statistics are the counters of serverStatus. insert counts documents, update
// and delete statements.
type statistics struct {
	insert, query, update, delete, getmore, command atomic.Int64
	returned, loaded                                atomic.Int64 // documents sent; documents read to find them
	bytesIn, bytesOut, requests, unknown            atomic.Int64
	awaiting                                        atomic.Int32 // hellos that wait for news at the moment
}

// list returns the running commands, oldest first.
func (o *operations) list() []*operation {
	var list []*operation
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

// kill interrupts an operation, if it still runs.
func (o *operations) kill(id int64, cause error) {
	for _, op := range o.list() {
		if op.ID == id {
			op.interrupt(cause)
		}
	}
}
