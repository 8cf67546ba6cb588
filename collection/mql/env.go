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

// Env is the environment of one command. Fields are set before the command runs and do not change
// afterwards, unless their comment allows it. Not safe for concurrent use; see Fork.
type Env struct {
	ctx context.Context

	// NowMillis is $$NOW: the time the command started, fixed for its duration.
	NowMillis int64
	// Clock returns the current time while the command runs. If Clock is nil, the time stays NowMillis.
	Clock func() time.Time
	// ClusterTime is $$CLUSTER_TIME: seconds in the high half, increment in the low.
	ClusterTime uint64
	// DB is the database that the command was sent to; $lookup and friends resolve against it.
	DB string
	// Collation orders and compares strings; nil means byte order.
	Collation *Collation
	// SimpleCollation reports that the command requested byte order explicitly, so that a collection's
	// default does not apply.
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
	// Stored holds the functions that the database stores for scripts; nil means none.
	Stored StoredScripts
	// Cosmos rejects what an account of Azure Cosmos DB does not support. It is nil on addresses of
	// MongoDB and while parts of the catalog are parsed.
	Cosmos *cosmos.Client
	// StableOnly hides what version 1 of the stable API does not have: text indexes.
	StableOnly bool
	// Release is the release of MongoDB that the client sees. ServerRelease is that of the server: it
	// applies to what is read from the catalog, which is the same for all clients.
	Release, ServerRelease release.Release
	// ReadsMeta, if set, is called for each kind of metadata that a parsed expression or sort
	// pattern reads.
	ReadsMeta func(kind string)
	// Slot limits the processor time of the goroutine; nil means no limit. Copies of an Env share
	// the SlotHolder, forks have their own.
	Slot *SlotHolder

	compiling   *atomic.Int64 // see Compiling; nil: nothing was compiled yet
	ticks       uint
	randomDrawn *atomic.Bool // see WithRandomFlag; nil: not recorded
}

// StoredScripts are JavaScript functions that a database stores. Safe for concurrent use.
type StoredScripts interface {
	// Scripts returns the functions of env's database by name, nil without any.
	Scripts(env *Env) (bson.Raw, error)
}

// NewEnv makes an Env around ctx with an empty variable set and the default
// memory budget.
func NewEnv(ctx context.Context) *Env {
	e := &Env{}
	e.Reset(ctx, &Vars{}, NewMemory(StageBytesMax))
	return e
}

// Reset makes e a fresh Env around ctx and reuses the memory of e, v and m: a connection has one Env for
// all its commands.
func (e *Env) Reset(ctx context.Context, v *Vars, m *Memory) {
	v.names, v.values = v.names[:0], v.values[:0]
	*e = Env{ctx: ctx, Vars: v, Memory: m, UserRoles: bson.EmptyArray}
}

// Strict reports whether the client has an account of Azure Cosmos DB.
func (e *Env) Strict() bool { return e.Cosmos != nil }

// ClockMillis returns the current time in milliseconds since the epoch.
func (e *Env) ClockMillis() int64 {
	if e.Clock == nil {
		return e.NowMillis
	}
	return e.Clock().UnixMilli()
}

// Context is the command's context: its deadline comes from maxTimeMS, and a disconnect or killOp
// cancels it.
func (e *Env) Context() context.Context { return e.ctx }

// NoteMeta calls ReadsMeta, if it is set.
func (e *Env) NoteMeta(kind string) {
	if e.ReadsMeta != nil {
		e.ReadsMeta(kind)
	}
}

// SetContext replaces the context by that of another command: a getMore continues with the Env of the
// command that opened the cursor.
func (e *Env) SetContext(ctx context.Context) { e.ctx = ctx }

// WithContext returns a copy of e under another context.
func (e *Env) WithContext(ctx context.Context) *Env {
	f := *e
	f.ctx = ctx
	return &f
}

// WithCollation returns e if its collation is c, else a copy with c, which overrides a collection's
// default.
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

// ForCatalog returns the Env for parsing what the catalog stores: e, or a copy of e with the release of the
// server.
func (e *Env) ForCatalog() *Env {
	if e.Release == e.ServerRelease && e.Cosmos == nil {
		return e
	}
	f := *e
	f.Release, f.Cosmos = e.ServerRelease, nil
	return &f
}

// Fork returns an Env for one more goroutine of the same command: with its own
// variables, meter (merge it back with Meter.Merge) and SlotHolder (see ReleaseSlot),
// sharing the memory budget.
func (e *Env) Fork(ctx context.Context) *Env {
	f := *e
	f.ctx, f.Slot = ctx, e.Slot.fork()
	f.Vars = e.Vars.clone()
	if e.Meter != nil {
		f.Meter = e.Meter.Fork(e.Meter.Collection())
	}
	return &f
}

// Compiling adds d to the time that the command has spent compiling JavaScript, and returns the sum. The
// sum counts as part of the time of each run.
func (e *Env) Compiling(d time.Duration) time.Duration {
	if e.compiling == nil {
		if d == 0 {
			return 0
		}
		e.compiling = new(atomic.Int64)
	}
	return time.Duration(e.compiling.Add(int64(d)))
}

// ticksPerCheck is the number of ticks between two checks whether the command must end. tickBytes is the number
// of bytes of work that count as one tick.
const (
	ticksPerCheck = 128
	tickBytes     = 64
	// rowBytes of a row count as one tick: they are only copied.
	rowBytes = 1024
)

// Tick is called once per row or element. Every 128th call checks whether the command must end, and
// returns the context's cause if so. The call may wait while other commands compute, see SlotHolder.
func (e *Env) Tick() error {
	if e.ticks++; e.ticks < ticksPerCheck {
		return nil
	}
	return e.checkInterrupt()
}

// Spend is Tick for work on a number of bytes. It is called before the work is done.
func (e *Env) Spend(bytes int) error {
	if e.ticks += uint(bytes) / tickBytes; e.ticks < ticksPerCheck {
		return nil
	}
	return e.checkInterrupt()
}

// Row is called for each row that was read or made, in addition to Tick: otherwise a client could make
// the time between two checks arbitrarily long with rows of megabytes.
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
	return e.Slot.reschedule(e)
}

// Interrupted returns the reason why the command must end, or nil.
func (e *Env) Interrupted() error {
	if e.ctx.Err() == nil {
		return nil
	}
	return context.Cause(e.ctx)
}
