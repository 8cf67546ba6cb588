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
// one.
type operations struct {
	next atomic.Int64
	m    sync.Map // int64 → *operation
}

// operation is one running command. What is here does not change while it runs.
type operation struct {
	ID      int64
	Name    string
	NS      collection.Namespace // Coll is empty for a command on a database
	Session session.ID
	Conn    wire.Conn
	Client  *clientInfo // nil before the connection's first hello
	Start   time.Time
	cancel  context.CancelCauseFunc

	mu   sync.Mutex
	body bson.Raw // of the request; nil once the command is over and its memory reused
}

// enter lists the command.
func (o *operations) enter(c *Call, cancel context.CancelCauseFunc) *operation {
	op := &operation{ID: o.next.Add(1), Name: c.Name(), NS: collection.Namespace{DB: c.DB}, Session: c.Args.ID,
		Conn: c.Conn, Client: c.Peer.client.Load(), Start: c.Start, cancel: cancel, body: c.Body}
	switch {
	case c.Def.Namespace == FirstField:
		op.NS.Coll, _ = c.Value.Str()
	case op.Name == "getMore":
		op.NS.Coll, _ = c.Body.Get("collection").Str()
	}
	o.m.Store(op.ID, op)
	return op
}

// leave ends the listing, and waits for whoever looks at the command's bytes.
func (o *operations) leave(op *operation) {
	o.m.Delete(op.ID)
	op.mu.Lock()
	op.body = nil
	op.mu.Unlock()
}

// command returns a copy of the request, nil if it is over.
func (op *operation) command() bson.Raw {
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.body.Clone()
}

// statistics are the counters of serverStatus. insert counts documents, update
// and delete statements.
type statistics struct {
	insert, query, update, delete, getmore, command atomic.Int64
	bytesIn, bytesOut, requests, unknown            atomic.Int64
}

// list returns the running commands, oldest first.
func (o *operations) list() []*operation {
	var list []*operation
	o.m.Range(func(_, v any) bool { list = append(list, v.(*operation)); return true })
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}

// kill interrupts an operation; false when there is none.
func (o *operations) kill(id int64, cause error) bool {
	v, ok := o.m.Load(id)
	if !ok {
		return false
	}
	v.(*operation).cancel(cause)
	return true
}
