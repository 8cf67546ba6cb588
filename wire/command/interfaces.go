package command

import (
	"errors"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/explained"
)

// A Server calls its rooms through the interfaces of this file. A room that implements one sets the field of the
// Server in its join.go. Until then the field holds an absent, without users, limits and failures.

// Authenticator authenticates the users of connections. Implemented by access.State.
type Authenticator interface {
	// Login returns the user of the connection with the current privileges; nil without a login. Errors: the
	// reason why the command must end.
	Login(c *Call) (*Login, error)
	// FirstUser reports whether the client is on this machine and may create the first user or role.
	FirstUser(c *Call) bool
	// Speculate runs the first step of a login that came within a hello.
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
	// ReadLimit returns the time limit of a read without maxTimeMS; 0 for no limit.
	ReadLimit() time.Duration
	// Parameter returns the value of a numeric or boolean server parameter; true is 1.
	Parameter(name string) float64
	// Attached is called when the server has been attached to its cluster; from then on the cluster
	// parameters take effect.
	Attached()
}

// FailPoints injects failures into commands. Implemented by failpoint.State.
type FailPoints interface {
	// Fail returns an error if a fail point is set at this place. Errors: any; wire.ErrHangUp closes the
	// connection.
	Fail(c *Call, at FailPlace) error
}

// WriteGate admits writes, and blocks them for fsync and setUserWriteBlockMode. Implemented by status.State.
type WriteGate interface {
	// EnterWrite waits until writes are admitted, and increments the count of running writes. While writes
	// of users are blocked, it sets WriteBlock of the command's Op to the error. Errors: the cause of the
	// command's context.
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

// Planner explains commands and applies query settings. Implemented by plans.State.
type Planner interface {
	// HasSettings reports whether reads of a collection may have query settings: otherwise the shape of a
	// read need not be computed.
	HasSettings(ns collection.Namespace) bool
	// ApplySettings applies the query settings of its shape to a read. Errors: QueryRejectedBySettings (411).
	ApplySettings(c *Call, x *explained.Explained) error
	// Explain replies with the plan of a command.
	Explain(c *Call, x *explained.Explained) error
}

// Sharding holds the zones and the collections of the database config. Implemented by shards.State.
type Sharding interface {
	// Dropped is called when a namespace was dropped, or when a drop found nothing, to delete the zones of a
	// collection that does not exist.
	Dropped(ns collection.Namespace)
	// UpdateVirtual runs an update of a virtual collection; done is false if the namespace is not one that
	// accepts updates.
	UpdateVirtual(c *Call, ns collection.Namespace, m *cluster.Modify) (r cluster.Modified, done bool, err error)
}

// FailPlace is a place where a fail point can make a command fail.
type FailPlace uint8

// The places: before a command runs; when its time limit is set; when a getMore has found its cursor; before
// a retryable write commits.
const (
	FailCommand FailPlace = iota
	FailTimeLimit
	FailGetMore
	FailWrite
)

// ErrEndless is returned by FailPoints.Fail if time limits are to be ignored.
var ErrEndless = errors.New("a fail point takes time limits away")

// absent implements the interfaces of a server without rooms.
type absent struct{}

func (absent) Login(*Call) (*Login, error)                     { return nil, nil }
func (absent) FirstUser(*Call) bool                            { return false }
func (absent) Speculate(*Call, bson.Value)                     {}
func (absent) AppendMechanisms(*Call, auth.Name)               {}
func (absent) AppendSecurity(*Call, *bson.Builder)             {}
func (absent) FillConcerns(*Call)                              {}
func (absent) ReadLimit() time.Duration                        { return 0 }
func (absent) Parameter(string) float64                        { return 0 }
func (absent) Attached()                                       {}
func (absent) Fail(*Call, FailPlace) error                     { return nil }
func (absent) EnterWrite(*Call) error                          { return nil }
func (absent) LeaveWrite()                                     {}
func (absent) Begin(*Call)                                     {}
func (absent) Profiled(string) bool                            { return false }
func (absent) HasSettings(collection.Namespace) bool           { return false }
func (absent) ApplySettings(*Call, *explained.Explained) error { return nil }
func (absent) Explain(*Call, *explained.Explained) error       { return nil }
func (absent) Dropped(collection.Namespace)                    {}
func (absent) UpdateVirtual(*Call, collection.Namespace, *cluster.Modify) (cluster.Modified, bool, error) {
	return cluster.Modified{}, false, nil
}
