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

// Env is the environment of one command. Fields are set before the command
// runs and read-only then, except where a comment says otherwise. Not safe for
// concurrent use; see Fork.
type Env struct {
	ctx context.Context

	// NowMillis is $$NOW: the time the command started, fixed for its duration.
	NowMillis int64
	// Clock is what the time is while the command runs; nil stands still at NowMillis.
	Clock func() time.Time
	// ClusterTime is $$CLUSTER_TIME: seconds in the high half, increment in the low.
	ClusterTime uint64
	// DB is the database that the command was sent to; $lookup and friends resolve against it.
	DB string
	// Collation orders and compares strings; nil means byte order.
	Collation *Collation
	// SimpleCollation says that the command asked for byte order by name, so
	// that a collection's default does not apply.
	SimpleCollation bool
	// Vars are the variables of `let`; never nil.
	Vars *Vars
	// Memory bounds what blocking operators hold; shared by forks; never nil.
	Memory *Memory
	// Meter counts the work for the request charge; nil means nobody asks.
	Meter *ratelimit.Meter
	// UserRoles is $$USER_ROLES as an array value.
	UserRoles bson.Value
	// JavaScript allows $where, $function and $accumulator.
	JavaScript bool
	// Stored has the functions that the database keeps for scripts; nil has none.
	Stored StoredScripts
	// Cosmos refuses what an account of Azure Cosmos DB does not have; nil on addresses of
	// MongoDB and for what the catalog keeps.
	Cosmos *cosmos.Client
	// StableOnly hides what version 1 of the stable API does not have: text indexes.
	StableOnly bool
	// Release is the release of MongoDB that the client is shown. What is read from the
	// catalog, for all clients alike, goes by that of the server: Kept.
	Release, Kept release.Release
	// ReadsMeta, if set, is called for each kind of metadata that a parsed expression or sort
	// pattern reads.
	ReadsMeta func(kind string)
	// Lane bounds what the goroutine takes of the processors; nil does not. Copies of an
	// Env share it, forks have their own.
	Lane *Lane

	compiling *atomic.Int64 // see Compiling; nil: nothing yet
	ticks     uint
	drew      *atomic.Bool // see Chance; nil: nobody asks
}

// StoredScripts are JavaScript functions that a database keeps. Safe for concurrent use.
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

// Reset makes e a fresh Env around ctx, in the memory that it and its parts
// have: one per connection serves all its commands.
func (e *Env) Reset(ctx context.Context, v *Vars, m *Memory) {
	v.names, v.values = v.names[:0], v.values[:0]
	*e = Env{ctx: ctx, Vars: v, Memory: m, UserRoles: bson.EmptyArray}
}

// Strict reports that the client has an account of Azure Cosmos DB.
func (e *Env) Strict() bool { return e.Cosmos != nil }

// ClockMillis is what the time is now, in milliseconds since the epoch.
func (e *Env) ClockMillis() int64 {
	if e.Clock == nil {
		return e.NowMillis
	}
	return e.Clock().UnixMilli()
}

// Context is the command's context: its deadline is maxTimeMS, its
// cancellation a disconnect or killOp.
func (e *Env) Context() context.Context { return e.ctx }

// NoteMeta calls ReadsMeta, if it is set.
func (e *Env) NoteMeta(kind string) {
	if e.ReadsMeta != nil {
		e.ReadsMeta(kind)
	}
}

// SetContext puts the Env under the context of another command: a getMore goes
// on with the Env of the command that opened the cursor.
func (e *Env) SetContext(ctx context.Context) { e.ctx = ctx }

// WithContext returns a copy of e under another context.
func (e *Env) WithContext(ctx context.Context) *Env {
	f := *e
	f.ctx = ctx
	return &f
}

// WithCollation returns e if it orders strings so, else a copy that does, whatever a
// collection's default is.
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

// AsKept is the Env in which what the catalog keeps is parsed: e, or a copy of it with the
// release of the server.
func (e *Env) AsKept() *Env {
	if e.Release == e.Kept && e.Cosmos == nil {
		return e
	}
	f := *e
	f.Release, f.Cosmos = e.Kept, nil
	return &f
}

// Fork returns an Env for one more goroutine of the same command: with its own
// variables, meter (merge it back with Meter.Merge) and lane (see Pause), sharing the
// memory budget.
func (e *Env) Fork(ctx context.Context) *Env {
	f := *e
	f.ctx, f.Lane = ctx, e.Lane.fork()
	f.Vars = e.Vars.clone()
	if e.Meter != nil {
		f.Meter = e.Meter.Fork(e.Meter.Collection())
	}
	return &f
}

// Compiling adds to the time in which the command's JavaScript was compiled, which counts as
// time of each run of it, and returns the sum.
func (e *Env) Compiling(d time.Duration) time.Duration {
	if e.compiling == nil {
		if d == 0 {
			return 0
		}
		e.compiling = new(atomic.Int64)
	}
	return time.Duration(e.compiling.Add(int64(d)))
}

// looks is how many ticks go by between two looks whether the command is to end, and
// tickBytes how much work on bytes counts as one.
const (
	looks     = 128
	tickBytes = 64
	// rowBytes of a row count as one tick: they are copied, not computed with.
	rowBytes = 1024
)

// Tick is called once per row, or element. Every 128th call looks whether the command is
// to end and then returns the context's cause; it may wait there while others
// compute, see Lane.
func (e *Env) Tick() error {
	if e.ticks++; e.ticks < looks {
		return nil
	}
	return e.look()
}

// Spend is Tick for a piece of work on so many bytes, before it is done.
func (e *Env) Spend(bytes int) error {
	if e.ticks += uint(bytes) / tickBytes; e.ticks < looks {
		return nil
	}
	return e.look()
}

// Row is called for a row that was read or made, besides Tick: rows of megabytes would
// else make the time between two looks as long as a client likes.
func (e *Env) Row(bytes int) error {
	if e.ticks += uint(bytes) / rowBytes; e.ticks < looks {
		return nil
	}
	return e.look()
}

func (e *Env) look() error {
	e.ticks = 0
	if err := e.Interrupted(); err != nil {
		return err
	}
	return e.Lane.look(e)
}

// Interrupted returns why the command must end, or nil.
func (e *Env) Interrupted() error {
	if e.ctx.Err() == nil {
		return nil
	}
	return context.Cause(e.ctx)
}
