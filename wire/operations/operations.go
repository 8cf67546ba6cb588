// Package operations lists the commands that run now, so that others may look at them and
// end them.
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

// Registry is the commands that run now: currentOp lists them, killOp ends
// one. Each connection runs one at a time, in its slot.
type Registry struct {
	next  atomic.Int64
	slots sync.Map // connection id → *Slot
}

// Operation is one running command, as it was when somebody looked.
type Operation struct {
	ID      int64
	Name    string
	NS      collection.Namespace // Coll is empty for a command on a database
	Session session.ID
	Conn    wire.Conn
	Client  *Client // nil before the connection's first hello
	InTxn   bool
	Writes  bool // or puts what it reads into a collection
	Start   time.Time
	User    collection.User
	Secrets Secrets // by which Command leaves out passwords; nil leaves out nothing
	slot    *Slot
}

// Client is what a client says of itself.
type Client struct {
	AppName string
	Driver  string // its name
	Doc     bson.Raw
}

// Slot is where a connection lists the command it runs. Its context is made
// once and serves all commands until one is killed.
type Slot struct {
	Progress

	mu     sync.Mutex
	op     Operation // ID 0 between commands
	body   bson.Raw  // of the request, whose memory is reused afterwards
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Open gives a connection its slot.
func (r *Registry) Open(conn int64, s *Slot) { r.slots.Store(conn, s) }

// Close takes the slot of a connection that has ended.
func (r *Registry) Close(conn int64) {
	if v, ok := r.slots.LoadAndDelete(conn); ok {
		if s := v.(*Slot); s.cancel != nil {
			s.cancel(nil)
		}
	}
}

// Enter lists a command in the slot of its connection, and gives op its number. It returns
// the context of the slot, under which the command is to run.
func (r *Registry) Enter(ctx context.Context, s *Slot, op *Operation, body bson.Raw) context.Context {
	op.ID, op.slot = r.number(), s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil || s.ctx.Err() != nil {
		s.ctx, s.cancel = context.WithCancelCause(ctx)
	}
	s.op, s.body = *op, body
	return s.ctx
}

// number is the next number: clients see, and kill by, one that has 31 bits, and is not 0.
func (r *Registry) number() int64 {
	for {
		if n := r.next.Add(1) & math.MaxInt32; n != 0 {
			return n
		}
	}
}

// Leave ends the listing, and waits for whoever looks at the command's bytes.
func (s *Slot) Leave() {
	s.mu.Lock()
	s.op, s.body = Operation{}, nil
	s.mu.Unlock()
}

// Progress is how far the command has come; what it says is that of the next command of the
// connection once this one is over.
func (op *Operation) Progress() *Progress { return &op.slot.Progress }

// Command returns a copy of the request without its secrets, nil if it is over.
func (op *Operation) Command() bson.Raw {
	op.slot.mu.Lock()
	defer op.slot.mu.Unlock()
	if op.slot.op.ID != op.ID {
		return nil
	}
	return Redact(op.slot.body.Clone(), op.Secrets)
}

// Interrupt ends the command, unless it is over.
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

// Kill interrupts an operation, if it still runs; found says so.
func (r *Registry) Kill(id int64, cause error) (found bool) {
	for _, op := range r.List() {
		if op.ID == id {
			op.Interrupt(cause)
			found = true
		}
	}
	return found
}

// Scatter begins to number operations at a random number, where several servers share a store: one that is
// not an operation's here is then hardly that of another one elsewhere.
func (r *Registry) Scatter() { r.next.Store(rand.Int64N(1 << 30)) }
