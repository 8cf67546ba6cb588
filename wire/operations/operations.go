// Package operations lists the running commands, so that clients can see and kill them.
package operations

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/wire"
	"github.com/cantledb/cantle/wire/session"
)

// Registry holds the running commands of a server: currentOp lists them, and killOp kills one. Each connection runs
// one command at a time, in the Slot of the connection.
type Registry struct {
	next  atomic.Int64
	slots sync.Map // connection id → *Slot
}

// Operation describes a running command in its state at the call of List.
type Operation struct {
	ID      int64
	Name    string
	NS      collection.Namespace // Coll is empty for a command on a database
	Session session.ID
	Conn    wire.Conn
	Client  *Client // nil before the connection's first hello
	InTxn   bool
	Writes  bool // or it writes the documents that it reads into a collection
	Start   time.Time
	User    collection.User
	Secrets Secrets // by which Command omits passwords; nil omits nothing
	slot    *Slot
}

// Client is the description of its program and driver that a client sends in hello.
type Client struct {
	AppName string
	Driver  string // name of the driver
	Doc     bson.Raw
}

// Slot holds the command that a connection is running. Its context is made once, and serves all commands of the
// connection until one of them is killed.
type Slot struct {
	Progress

	mu     sync.Mutex
	op     Operation // ID 0 between commands
	body   bson.Raw  // of the request, whose memory is reused afterwards
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Open registers the slot of a connection.
func (r *Registry) Open(conn int64, s *Slot) { r.slots.Store(conn, s) }

// Close removes the slot of a connection that has ended.
func (r *Registry) Close(conn int64) {
	if v, ok := r.slots.LoadAndDelete(conn); ok {
		if s := v.(*Slot); s.cancel != nil {
			s.cancel(nil)
		}
	}
}

// Enter registers the command op as running in the slot s of its connection, and sets op.ID. It returns the context
// of the slot, under which the command must run.
func (r *Registry) Enter(ctx context.Context, s *Slot, op *Operation, body bson.Raw) context.Context {
	op.ID, op.slot = r.nextID(), s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil || s.ctx.Err() != nil {
		s.ctx, s.cancel = context.WithCancelCause(ctx)
	}
	s.op, s.body = *op, body
	return s.ctx
}

// nextID returns the next id of an operation. Clients see the id and pass it to killOp, so it has 31 bits and is not
// 0.
func (r *Registry) nextID() int64 {
	for {
		if n := r.next.Add(1) & math.MaxInt32; n != 0 {
			return n
		}
	}
}

// Leave removes the command from the slot when it has ended. It waits until no other goroutine reads the bytes of
// the request, whose memory is reused.
func (s *Slot) Leave() {
	s.mu.Lock()
	s.op, s.body = Operation{}, nil
	s.mu.Unlock()
}

// Progress returns what the running command reports about itself. After the end of the command it is the progress of
// the connection's next command.
func (op *Operation) Progress() *Progress { return &op.slot.Progress }

// Command returns a copy of the command's request without its secrets; nil if the command has ended.
func (op *Operation) Command() bson.Raw {
	op.slot.mu.Lock()
	defer op.slot.mu.Unlock()
	if op.slot.op.ID != op.ID {
		return nil
	}
	return Redact(op.slot.body.Clone(), op.Secrets)
}

// Interrupt interrupts the command, unless it has ended.
func (op *Operation) Interrupt(cause error) {
	op.slot.mu.Lock()
	defer op.slot.mu.Unlock()
	if op.slot.op.ID == op.ID {
		op.slot.cancel(cause)
	}
}

// List returns the running commands, oldest first.
func (r *Registry) List() []*Operation {
	var list []*Operation
	r.slots.Range(func(_, v any) bool {
		s := v.(*Slot)
		s.mu.Lock()
		if s.op.ID != 0 {
			op := s.op
			list = append(list, &op)
		}
		s.mu.Unlock()
		return true
	})
	slices.SortFunc(list, func(a, b *Operation) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Kill interrupts an operation; found reports whether it was running.
func (r *Registry) Kill(id int64, cause error) (found bool) {
	for _, op := range r.List() {
		if op.ID == id {
			op.Interrupt(cause)
			found = true
		}
	}
	return found
}

// RandomizeIDs sets the next operation id to a random number, for a server with peers. If a client sends a killOp to
// the wrong server, the id of a peer's operation is then unlikely to be one of an operation here.
func (r *Registry) RandomizeIDs() { r.next.Store(rand.Int64N(1 << 30)) }
