package command

import (
	"context"
	"errors"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/cursor"
	"github.com/cantledb/cantle/wire/explained"
)

// A Server calls its rooms through the interfaces of this file. A room that implements an interface sets the
// corresponding field of the Server in join.go of the room. Before that, the field holds an absent, whose methods do
// nothing: no users, no limits, no failures.

// Authenticator authenticates the users of connections. Implemented by access.State.
type Authenticator interface {
	// Login returns the user of the connection with the current privileges; nil without a login. Errors: the reason
	// why the command must not run, such as its interruption.
	Login(c *Call) (*Login, error)
	// FirstUser reports whether the client may create the first user or role without a login, because its address is
	// a loopback address.
	FirstUser(c *Call) bool
	// Speculate runs the first step of a login that the client sent within a hello, to save a round trip.
	Speculate(c *Call, first bson.Value)
	// AppendMechanisms appends the login mechanisms of a user to the reply of a hello.
	AppendMechanisms(c *Call, user auth.Name)
	// AppendSecurity appends the section security of serverStatus.
	AppendSecurity(c *Call, b *bson.Builder)
}

// Settings holds the parameters and defaults that are set while the server runs. Implemented by settings.State.
type Settings interface {
	// FillConcerns fills in the concerns that the command leaves out.
	FillConcerns(c *Call)
	// ReadLimit returns the time limit of Limited commands without maxTimeMS, except on the Cosmos listener; 0 for no
	// limit.
	ReadLimit() time.Duration
	// RequestUnits returns the default caps of commands: of all, and of those of an application; 0 for none. then is the
	// effect of a default cap.
	RequestUnits(appName string) (all, app ratelimit.MicroRU, then ratelimit.RunawayRule)
	// RunawayWatch returns the number of killed commands of one kind ("exact", "similar", "plan") after which that
	// kind is rejected, 0 for never, and for how long.
	RunawayWatch() (after int64, d time.Duration, kind string)
	// Parameter returns the value of a numeric or boolean server parameter; true is 1.
	Parameter(name string) float64
	// Attached is called when the server has been attached to its cluster. It applies the stored cluster parameters.
	Attached()
}

// FailPoints injects failures into commands. Implemented by failpoint.State.
type FailPoints interface {
	// Fail returns an error if an active fail point makes the command fail at this place, else nil. Errors: any;
	// wire.ErrHangUp closes the connection.
	Fail(c *Call, at FailPlace) error
}

// WriteGate makes writes wait while fsync's lock is on, and refuses writes of users while setUserWriteBlockMode is
// on. Implemented by status.State.
type WriteGate interface {
	// EnterWrite waits until writes are admitted, and increments the count of running writes, for which a lock waits.
	// While setUserWriteBlockMode blocks writes of users, it sets WriteBlock of the command's Op to the error for
	// those writes. Errors: the cause with which the command's context ended.
	EnterWrite(c *Call) error
	// LeaveWrite decrements the count that EnterWrite incremented.
	LeaveWrite()
}

// Profiler records commands. Implemented by status.State.
type Profiler interface {
	// Begin is called with each command before it runs.
	Begin(c *Call)
	// Profiled reports whether commands on a database are recorded.
	Profiled(db string) bool
}

// Usage counts the use of collections. Implemented by status.State.
type Usage interface {
	// AppendLatencies appends the number and the durations of the commands on a collection or view, with histograms on
	// demand: the field latencyStats of $collStats.
	AppendLatencies(b *bson.Builder, ns collection.Namespace, histograms bool)
	// CollectionScans returns how many commands have scanned a collection, and how many of them without a tailable cursor.
	CollectionScans(ns collection.Namespace) (total, nonTailable int64)
}

// Planner explains commands and applies query settings. Implemented by plans.State.
type Planner interface {
	// HasSettings reports whether reads of a collection may have query settings. If not, the shape of a read need not
	// be computed.
	HasSettings(ns collection.Namespace) bool
	// ApplySettings applies to a read the query settings that are stored for its shape. Errors:
	// QueryRejectedBySettings (411).
	ApplySettings(c *Call, x *explained.Explained) error
	// NoteRunaway counts a read that was killed at its cap, by its query shape, and rejects the shape for some time if that
	// happened often (Settings.RunawayWatch).
	NoteRunaway(c *Call, e *ratelimit.CapReached)
	// WatchList visits the query settings that limit or refuse reads, of which an example is stored.
	WatchList(visit func(Watch))
	// Sample begins the record of an execution that $queryStats counts; nil if its command cannot be read. It has no effect on
	// the command.
	Sample(c *Call) cursor.Observer
	// AppendStats appends the section metrics.queryStats of serverStatus.
	AppendStats(b *bson.Builder)
	// Explain replies with the plan of a command.
	Explain(c *Call, x *explained.Explained) error
}

// Watch describes query settings that limit or refuse reads.
type Watch struct {
	Kind  string   // "exact", "similar" or "plan": the reads that they are for
	Query bson.Raw // an example, with $db
	Text  string   // the effect, in words
}

// Sharding holds the zones and the collections of the database config. Implemented by shards.State.
type Sharding interface {
	// Dropped is called after a namespace was dropped or renamed, and after a drop that found no collection. It
	// deletes the zones, the query analyzer and the recorded traffic of that name, which may exist without the
	// collection.
	Dropped(ns collection.Namespace)
	// UpdateVirtual runs an update of a collection of the database config that is computed when it is read. done is
	// false for a delete, and if the namespace is no collection that accepts such updates.
	UpdateVirtual(c *Call, ns collection.Namespace, m *cluster.Modify) (r cluster.Modified, done bool, err error)
	// TakeShapes visits each query shape that did work since the last call, with that work, for the history.
	TakeShapes(visit func(history.Shape, history.ShapeWork))
	// RunLedger stores the ledger of request units every few seconds until ctx ends, and once after that.
	RunLedger(ctx context.Context)
}

// FailPlace is a place where a fail point can make a command fail.
type FailPlace uint8

// The places of fail points: before a command runs; before its time limit is set; when a getMore has found its
// cursor; before a retryable write commits.
const (
	FailCommand FailPlace = iota
	FailTimeLimit
	FailGetMore
	FailWrite
)

// ErrEndless is returned by FailPoints.Fail if a fail point disables all time limits, so that the command runs
// without one.
var ErrEndless = errors.New("a fail point takes time limits away")

// absent implements the interfaces of rooms with methods that do nothing, for a server without these rooms.
type absent struct{}

func (absent) Login(*Call) (*Login, error)                       { return nil, nil }
func (absent) FirstUser(*Call) bool                              { return false }
func (absent) Speculate(*Call, bson.Value)                       {}
func (absent) AppendMechanisms(*Call, auth.Name)                 {}
func (absent) AppendSecurity(*Call, *bson.Builder)               {}
func (absent) FillConcerns(*Call)                                {}
func (absent) ReadLimit() time.Duration                          { return 0 }
func (absent) Parameter(string) float64                          { return 0 }
func (absent) TakeShapes(func(history.Shape, history.ShapeWork)) {}
func (absent) RunLedger(context.Context)                         {}
func (absent) Attached()                                         {}
func (absent) Fail(*Call, FailPlace) error                       { return nil }
func (absent) EnterWrite(*Call) error                            { return nil }
func (absent) LeaveWrite()                                       {}
func (absent) Begin(*Call)                                       {}
func (absent) Profiled(string) bool                              { return false }
func (absent) HasSettings(collection.Namespace) bool             { return false }
func (absent) ApplySettings(*Call, *explained.Explained) error   { return nil }
func (absent) NoteRunaway(*Call, *ratelimit.CapReached)          {}
func (absent) RunawayWatch() (int64, time.Duration, string)      { return 0, 0, "" }
func (absent) WatchList(func(Watch))                             {}
func (absent) AppendStats(*bson.Builder)                         {}
func (absent) Sample(*Call) cursor.Observer                      { return nil }
func (absent) Explain(*Call, *explained.Explained) error         { return nil }
func (absent) Dropped(collection.Namespace)                      {}
func (absent) RequestUnits(string) (all, app ratelimit.MicroRU, then ratelimit.RunawayRule) {
	return 0, 0, then
}
func (absent) AppendLatencies(*bson.Builder, collection.Namespace, bool) {
}
func (absent) CollectionScans(collection.Namespace) (int64, int64) { return 0, 0 }
func (absent) UpdateVirtual(*Call, collection.Namespace, *cluster.Modify) (cluster.Modified, bool, error) {
	return cluster.Modified{}, false, nil
}
