package mql

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
)

// Env is the environment of one command: its context, time, collation, variables and limits. Fields are set before
// the command runs and do not change afterwards, unless their comment allows it. Not safe for concurrent use; see
// Fork.
type Env struct {
	ctx context.Context

	// NowMillis is the value of $$NOW in milliseconds since 1970: the time when the command started, fixed for its
	// duration.
	NowMillis int64
	// Clock returns the current time while the command runs. If Clock is nil, the time stays NowMillis.
	Clock func() time.Time
	// ClusterTime is the value of $$CLUSTER_TIME: seconds in the high 32 bits, a counter in the low ones.
	ClusterTime uint64
	// DB is the database that the command was sent to. $lookup and other stages find their collections there.
	DB string
	// Collation orders and compares strings; nil means byte order.
	Collation *Collation
	// SimpleCollation is set if byte order was chosen explicitly, so that a collection's default does not apply.
	SimpleCollation bool
	// Vars are the variables of `let`; never nil.
	Vars *Vars
	// Memory bounds what blocking operators hold; shared by forks; never nil.
	Memory *Memory
	// Meter counts the work for the request charge; nil counts nothing.
	Meter *ratelimit.Meter
	// UserRoles is $$USER_ROLES as an array value.
	UserRoles bson.Value
	// JavaScript permits $where, $function and $accumulator.
	JavaScript bool
	// Where is set once the $where of the running statement was parsed: then $function fails.
	Where bool
	// Stored holds the JavaScript functions that the database stores, which scripts can call; nil means none.
	Stored StoredScripts
	// Cosmos returns errors for features that an account of Azure Cosmos DB does not support. It is nil on addresses
	// of MongoDB and while parts of the catalog are parsed.
	Cosmos *cosmos.Client
	// StableOnly is set for a client that declared version 1 of the stable API with apiStrict. It hides text
	// indexes, which that version lacks.
	StableOnly bool
	// Release is the release of MongoDB that the client sees. ServerRelease is the release by which the server reads
	// its catalog, whose meaning must be the same for all clients.
	Release, ServerRelease release.Release
	// ReadsMeta is called, unless nil, for each kind of metadata (such as "textScore") that a parsed expression or
	// sort pattern reads.
	ReadsMeta func(kind string)
	// Slot limits the processor time of the goroutine that uses the Env; nil means no limit. Copies of an Env share
	// the SlotHolder, forks have their own.
	Slot *SlotHolder

	// LateConstants leaves the errors of constant parts of an expression to its evaluation. It is set where a definition is
	// parsed that may never be evaluated: an update that may match nothing, a validator, a view.
	LateConstants bool

	compiling   *atomic.Int64 // see Compiling; nil: nothing was compiled yet
	ticks       uint
	randomDrawn *atomic.Bool // see WithRandomFlag; nil: not recorded
}

// StoredScripts is the source of the JavaScript functions that a database stores. Safe for concurrent use.
type StoredScripts interface {
	// Scripts returns the stored functions of the database env.DB by name, nil if there are none.
	Scripts(env *Env) (bson.Raw, error)
}

// NewEnv makes an Env with the context ctx, no variables, and a memory limit of StageBytesMax.
func NewEnv(ctx context.Context) *Env {
	e := &Env{}
	e.Reset(ctx, &Vars{}, NewMemory(StageBytesMax))
	return e
}

// Reset makes e a fresh Env with the context ctx, the variables v, which it empties, and the memory m. It allocates
// nothing: commands reuse Envs, except one that a cursor keeps.
func (e *Env) Reset(ctx context.Context, v *Vars, m *Memory) {
	v.names, v.values = v.names[:0], v.values[:0]
	*e = Env{ctx: ctx, Vars: v, Memory: m, UserRoles: bson.EmptyArray}
}

// Strict reports whether the client uses an account of Azure Cosmos DB, so that unsupported features are refused.
func (e *Env) Strict() bool { return e.Cosmos != nil }

// ClockMillis returns the current time in milliseconds since the epoch.
func (e *Env) ClockMillis() int64 {
	if e.Clock == nil {
		return e.NowMillis
	}
	return e.Clock().UnixMilli()
}

// Context returns the context of the command: its deadline comes from maxTimeMS or the default time limit, and killOp,
// the stop of the server and, for most commands, a disconnect cancel it.
func (e *Env) Context() context.Context { return e.ctx }

// NoteMeta calls ReadsMeta, if it is set.
func (e *Env) NoteMeta(kind string) {
	if e.ReadsMeta != nil {
		e.ReadsMeta(kind)
	}
}

// SetContext replaces the context: a getMore continues under its own one with the Env of the command that opened the
// cursor, and a step that must end in spite of an interruption gets a context without cancellation.
func (e *Env) SetContext(ctx context.Context) { e.ctx = ctx }

// WithContext returns a copy of e under another context.
func (e *Env) WithContext(ctx context.Context) *Env {
	f := *e
	f.ctx = ctx
	return &f
}

// WithCollation returns e if its collation is c, else a copy of e with the collation c, which overrides the default
// of a collection.
func (e *Env) WithCollation(c *Collation) *Env {
	if e.Collation == c {
		return e
	}
	f := *e
	f.Collation, f.SimpleCollation = c, c == nil
	return &f
}

// WithMemory returns a copy of e under another budget.
func (e *Env) WithMemory(m *Memory) *Env {
	f := *e
	f.Memory = m
	return &f
}

// WithLateConstants returns a copy of e with LateConstants set.
func (e *Env) WithLateConstants() *Env {
	f := *e
	f.LateConstants = true
	return &f
}

// ForCatalog returns the Env by which definitions from the catalog are parsed: e, or a copy of e with the release of
// the server and without the limits of a Cosmos DB account.
func (e *Env) ForCatalog() *Env {
	if e.Release == e.ServerRelease && e.Cosmos == nil {
		return e
	}
	f := *e
	f.Release, f.Cosmos = e.ServerRelease, nil
	return &f
}

// Fork returns an Env for one more goroutine of the same command. It shares the memory budget and has its own
// variables, meter (to be merged back by Meter.Merge) and SlotHolder (see ReleaseSlot).
func (e *Env) Fork(ctx context.Context) *Env {
	f := *e
	f.ctx, f.Slot = ctx, e.Slot.fork()
	f.Vars = e.Vars.clone()
	if e.Meter != nil {
		f.Meter = e.Meter.Fork(e.Meter.Collection())
	}
	return &f
}

// Compiling adds d to the time that the command has spent compiling JavaScript, and returns the sum. The time limit
// of each run of a script includes this sum.
func (e *Env) Compiling(d time.Duration) time.Duration {
	if e.compiling == nil {
		if d == 0 {
			return 0
		}
		e.compiling = new(atomic.Int64)
	}
	return time.Duration(e.compiling.Add(int64(d)))
}

// ticksPerCheck is the number of ticks between two checks whether the command must end. tickBytes is the number of
// bytes of work that count as one tick (Spend).
const (
	ticksPerCheck = 128
	tickBytes     = 64
	// rowBytes is the number of bytes of a row that count as one tick (Row). It is larger, as rows are only copied.
	rowBytes = 1024
)

// Tick counts one step of work, a row or an element. Every 128 steps, with those of Spend and Row, it checks whether
// the command must end, and returns the context's cause if so, or *ratelimit.CapReached. The call may wait while other commands compute, see
// SlotHolder.
func (e *Env) Tick() error {
	if e.ticks++; e.ticks < ticksPerCheck {
		return nil
	}
	return e.checkInterrupt()
}

// Spend counts work on a number of bytes as Tick counts steps, 64 bytes as one. It is called before the work is
// done. Errors: the errors of Tick.
func (e *Env) Spend(bytes int) error {
	if e.ticks += uint(bytes) / tickBytes; e.ticks < ticksPerCheck {
		return nil
	}
	return e.checkInterrupt()
}

// Row counts the bytes of a row that was read or made, 1024 as one step, in addition to Tick: otherwise a client
// could make the time between two checks arbitrarily long with rows of megabytes. Errors: the errors of Tick.
func (e *Env) Row(bytes int) error {
	if e.ticks += uint(bytes) / rowBytes; e.ticks < ticksPerCheck {
		return nil
	}
	return e.checkInterrupt()
}

func (e *Env) checkInterrupt() error {
	e.ticks = 0
	if err := e.Interrupted(); err != nil {
		return err
	}
	if err := e.Meter.CheckCap(); err != nil {
		return err
	}
	if d := e.Meter.Pause(e.Clock); d > 0 {
		return e.Pause(d)
	}
	return e.Slot.reschedule(e)
}

// Pause waits without a processor slot. Errors: the reason why the command must end.
func (e *Env) Pause(d time.Duration) error {
	e.ReleaseSlot()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-e.ctx.Done():
		return context.Cause(e.ctx)
	case <-t.C:
		return nil
	}
}

// Interrupted returns the reason why the command must end, or nil.
func (e *Env) Interrupted() error {
	if e.ctx.Err() == nil {
		return nil
	}
	return context.Cause(e.ctx)
}
