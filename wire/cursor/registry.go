package cursor

import (
	secure "crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/session"
)

// ErrKilled is the cause given to Access.Interrupt.
var ErrKilled = errors.New("cursor killed")

// Config holds the limits of a registry of cursors. In the zero Config, all limits have their defaults.
type Config struct {
	Max      int           // open cursors; default 100,000
	BytesMax int64         // of all cursors together; default 256 MB
	WarmMax  int           // idle cursors whose iterators stay open, -1 for none; default 256
	IdleMax  time.Duration // after which an idle cursor is closed; default 10 minutes (cursorTimeoutMillis)
	Peers    Peers
}

// Registry holds all open cursors. Safe for concurrent use.
type Registry struct {
	cfg             Config
	parkProbability atomic.Uint64 // bits of the probability that SetParkProbability set

	mu       sync.Mutex
	cursors  map[ID]*Cursor
	accounts map[string]int // number of cursors by Options.Account
	idleMax  time.Duration
	budget   budget
	stats    Stats
}

// accountFactor limits the cursors of one account to twice the number of free places, so that one account alone can
// take only two thirds of all places. Cursors without an account have no such limit.
const accountFactor = 2

// New returns an empty registry.
func New(cfg Config) *Registry {
	if cfg.Max == 0 {
		cfg.Max = 100_000
	}
	if cfg.IdleMax == 0 {
		cfg.IdleMax = 10 * time.Minute
	}
	if cfg.BytesMax == 0 {
		cfg.BytesMax = 256 << 20
	}
	if cfg.WarmMax == 0 {
		cfg.WarmMax = 256
	}
	return &Registry{cfg: cfg, cursors: map[ID]*Cursor{}, accounts: map[string]int{}, idleMax: cfg.IdleMax, budget: budget{shares: map[int64]*share{}}}
}

// SetParkProbability sets the probability c, 0 to 1, with which a Checkin parks all warm cursors, even if there are
// few. Tests use it (the fail point parkCursors), because a parked cursor continues by other code than one whose
// iterators stayed open.
func (r *Registry) SetParkProbability(c float64) { r.parkProbability.Store(math.Float64bits(c)) }

// SetIdleMax changes how long a cursor may be idle.
func (r *Registry) SetIdleMax(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idleMax = d
}

// Add opens a cursor over the source src, for the use of the calling command, which calls Checkin after its batch.
// After an error, the caller still has to close src. Errors: OperationFailed if too many cursors are
// open, of all accounts or of this one.
func (r *Registry) Add(o Options, src Source, interrupt func(error)) (*Cursor, error) {
	o.Command = o.Command.Clone()
	now := time.Now()
	c := &Cursor{Options: o, Opened: now, registry: r, source: src, pinned: true, used: now, interrupt: interrupt}
	c.holder, _ = src.(Holder)
	c.use.Lock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if free, own := r.cfg.Max-len(r.cursors), r.accounts[o.Account]; free <= 0 || o.Account != "" && own >= accountFactor*free {
		return nil, mongoerr.New(mongoerr.OperationFailed,
			"cannot open a cursor: %d are open already, %d of them by %s; read them to their end or close them (killCursors)", len(r.cursors), own, o.Account)
	}
	r.accounts[o.Account]++
	c.ID = r.newID()
	r.cursors[c.ID] = c
	r.budget.count(c, cursorBytes)
	r.stats.Opened++
	if o.Observer != nil {
		o.Observer.Opened()
	}
	return c, nil
}

// newID returns a new cursor id: a random positive number, which other clients cannot guess. The caller holds mu.
func (r *Registry) newID() ID {
	for {
		var b [8]byte
		secure.Read(b[:]) // never fails
		id := r.cfg.Peers.stamp(ID(binary.LittleEndian.Uint64(b[:]) >> 1))
		if id != 0 && r.cursors[id] == nil {
			return id
		}
	}
}

// Checkout returns a cursor for the use of one command, which calls Checkin after its batch.
//
// Errors: CursorNotFound, CursorInUse, Unauthorized, Location50736 to Location50741. If the cursor was poisoned (see
// Poison), Checkout closes it and returns the reason.
func (r *Registry) Checkout(id ID, a Access) (*Cursor, error) {
	r.mu.Lock()
	c := r.cursors[id]
	if c == nil {
		r.mu.Unlock()
		return nil, mongoerr.NoCursor(int64(id), r.cfg.Peers.owner(id))
	}
	err := c.check(a)
	if err == nil && c.pinned {
		err = mongoerr.New(mongoerr.CursorInUse, "cursor id %d is already in use", id)
	}
	if err == nil && c.poison != nil {
		err = c.poison
		r.remove(c)
		r.mu.Unlock()
		c.close()
		return nil, err
	}
	if err == nil {
		c.pinned, c.interrupt = true, a.Interrupt
		r.budget.removeIdle(c)
	}
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.use.Lock() // waits at most for Park
	if o := c.Options.Observer; o != nil {
		o.Used()
	}
	return c, nil
}

// Checkin ends the use of a cursor by a command that has sent a batch of n documents. If more is false, or the
// cursor was killed meanwhile, Checkin closes it. It returns the cursor id for the client, or 0 if the stream has
// ended. A cursor that was killed before its end keeps its id: the next getMore then returns an error, and the
// client does not take the documents so far for all.
func (c *Cursor) Checkin(n int, more bool) ID {
	r := c.registry
	bytes := int64(cursorBytes)
	if more && c.holder != nil {
		bytes += c.holder.Held()
	}
	var rest []func()
	r.mu.Lock()
	c.pinned, c.interrupt, c.used = false, nil, time.Now()
	c.batches++
	c.returned += int64(n)
	if !more && !c.removed {
		r.remove(c)
	}
	dead := c.removed
	if !dead {
		r.budget.count(c, bytes)
		rest = r.evict(r.cfg.BytesMax) // other cursors: this one was just used
		r.budget.addIdle(c)
	}
	warm := max(0, r.cfg.WarmMax)
	if c := r.parkProbability.Load(); c != 0 && rand.Float64() < math.Float64frombits(c) {
		warm = 0
	}
	crowded := r.budget.warm.Len() > warm
	r.mu.Unlock()
	if dead {
		c.end()
	}
	c.use.Unlock()
	for _, f := range rest {
		f()
	}
	if crowded {
		r.park(warm)
	}
	if !more {
		return 0
	}
	return c.ID
}

// remove takes a cursor out of the registry. The caller holds mu, and closes the source later unless a command uses
// the cursor.
func (r *Registry) remove(c *Cursor) {
	c.removed = true
	delete(r.cursors, c.ID)
	if r.accounts[c.Options.Account]--; r.accounts[c.Options.Account] <= 0 {
		delete(r.accounts, c.Options.Account)
	}
	r.budget.remove(c)
}

// Kill closes a cursor; if a command uses it, Kill interrupts this command, whose Checkin closes the cursor. may
// returns an error if the caller has no permission to kill the cursor; a nil may allows every kill. found is false
// if there is no such cursor. Errors: errors of may.
func (r *Registry) Kill(id ID, may func(o *Options) error) (found bool, err error) {
	r.mu.Lock()
	c := r.cursors[id]
	if c == nil {
		r.mu.Unlock()
		return false, nil
	}
	if may != nil {
		if err := may(&c.Options); err != nil {
			r.mu.Unlock()
			return true, err
		}
	}
	r.remove(c)
	close := r.finishRemove(c)
	r.mu.Unlock()
	close()
	return true, nil
}

// finishRemove returns a function that finishes the removal of a cursor: it closes the cursor, or interrupts the
// command that uses it. The caller holds mu, and calls the returned function after it has released mu.
func (r *Registry) finishRemove(c *Cursor) func() {
	if !c.pinned {
		return c.close
	}
	if f := c.interrupt; f != nil {
		return func() { f(ErrKilled) }
	}
	return func() {}
}

// KillSession closes the cursors of a session that has ended, and returns their number.
func (r *Registry) KillSession(s session.ID) int {
	return r.killIf(func(c *Cursor) bool { return c.Options.Session == s })
}

// KillTxn closes the cursors opened in a transaction that ended, and returns their number.
func (r *Registry) KillTxn(s session.ID, number int64) int {
	return r.killIf(func(c *Cursor) bool { return c.Options.TxnNumber == number && c.Options.Session == s })
}

// KillConn closes the cursors that were opened on a connection, and returns their number.
func (r *Registry) KillConn(conn int64) int {
	return r.killIf(func(c *Cursor) bool { return c.Options.Conn == conn })
}

// KillUser closes the cursors of a user that was dropped, and returns their number.
func (r *Registry) KillUser(user collection.User) int {
	return r.killIf(func(c *Cursor) bool { return c.Options.User == user })
}

// Close closes all cursors when the server stops, and interrupts the commands that use them.
func (r *Registry) Close() {
	r.killIf(func(*Cursor) bool { return true })
}

// killIf closes the cursors that match, and returns their number.
func (r *Registry) killIf(match func(c *Cursor) bool) int {
	var rest []func()
	r.mu.Lock()
	for _, c := range r.cursors {
		if match(c) {
			r.remove(c)
			rest = append(rest, r.finishRemove(c))
		}
	}
	r.mu.Unlock()
	for _, f := range rest {
		f()
	}
	return len(rest)
}

// Poison ends the cursors without SurvivesDrop on a namespace that was dropped or renamed, and returns their number:
// the next getMore of each returns the error why (QueryPlanKilled); until then killCursors still finds the cursor. An
// empty ns.Coll means the whole database. A command that uses a cursor now is not disturbed, because it reads from a
// snapshot.
func (r *Registry) Poison(ns collection.Namespace, why *mongoerr.Error) int {
	n := 0
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.cursors {
		if o := c.Options.Namespace; !c.Options.SurvivesDrop && (o == ns || ns.Coll == "" && o.DB == ns.DB) {
			c.poison = why
			n++
		}
	}
	return n
}

// Stats counts cursors. Manual: reference/command/serverStatus#metrics (metrics.cursor).
type Stats struct {
	Open      int // now
	Pinned    int // of these
	NoTimeout int // of these
	Opened    int64
	TimedOut  int64
	Evicted   int64 // closed because cursors held too much memory
	Parked    int64 // times that a cursor was parked
	Bytes     int64 // held at the last Checkin or Park of each
}

// Stats returns the current counts.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	st := r.stats
	st.Open, st.Bytes = len(r.cursors), r.budget.bytes
	for _, c := range r.cursors {
		if c.pinned {
			st.Pinned++
		}
		if c.Options.NoTimeout {
			st.NoTimeout++
		}
	}
	return st
}

// Info describes an open cursor. Manual: reference/operator/aggregation/currentOp (cursor).
type Info struct {
	ID       ID
	Options  Options
	Opened   time.Time
	Used     time.Time
	Pinned   bool
	Batches  int64
	Returned int64 // documents
}

// List describes all open cursors.
func (r *Registry) List() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Info, 0, len(r.cursors))
	for _, c := range r.cursors {
		list = append(list, c.info())
	}
	return list
}

// Find returns the description of one cursor; ok is false if there is no cursor with the id.
func (r *Registry) Find(id ID) (i Info, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.cursors[id]
	if !ok {
		return Info{}, false
	}
	return c.info(), true
}

// info returns the description of a cursor for List and Find. The caller holds the registry's lock.
func (c *Cursor) info() Info {
	return Info{c.ID, c.Options, c.Opened, c.used, c.pinned, c.batches, c.returned}
}
