package command

import (
	"errors"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/explained"
)

// Hooks are the functions of rooms that the chain or other rooms call. A room sets its hooks when it joins
// the server. The defaults do nothing: no login, no limits, no failures.
type Hooks struct {
	// Login returns the user of the connection with the current privileges; nil without a login. Set by
	// access. Errors: the reason why the command must end.
	Login func(c *Call) (*Login, error)
	// FirstUser reports whether the client is on this machine and may create the first user or role. Set by
	// access.
	FirstUser func(c *Call) bool
	// Speculate runs the first step of a login that came within a hello. Set by access.
	Speculate func(c *Call, first bson.Value)
	// Mechanisms appends the login mechanisms of a user to the reply of a hello. Set by access.
	Mechanisms func(c *Call, user auth.Name)
	// Security appends the section security of serverStatus. Set by access.
	Security func(c *Call, b *bson.Builder)

	// DefaultConcerns fills in the concerns that the command leaves out. Set by settings.
	DefaultConcerns func(c *Call)
	// ReadLimit returns the time limit of a read without maxTimeMS; 0 for no limit. Set by settings.
	ReadLimit func() time.Duration
	// Attached is called when the server has been attached to its cluster; from then on the cluster
	// parameters take effect. Set by settings.
	Attached func()
	// Parameter returns the value of a numeric or boolean server parameter; true is 1. Set by settings.
	Parameter func(name string) float64

	// Fail returns an error if a fail point is set at this place. Errors: any; wire.ErrHangUp closes the
	// connection. Set by failpoint.
	Fail func(c *Call, at FailPlace) error

	// EnterWrite waits until writes are admitted, and increments the count of running writes. While writes
	// of users are blocked, it sets WriteBlock of the command's Op to the error. Errors: the cause of the
	// command's context. Set by status, which has the commands fsync and setUserWriteBlockMode.
	EnterWrite func(c *Call) error
	// LeaveWrite decrements the count that EnterWrite incremented.
	LeaveWrite func()
	// Begin is called with each command before it runs. Set by status, for the profiler.
	Begin func(c *Call)
	// Profiled reports whether commands on a database are recorded. Set by status.
	Profiled func(db string) bool

	// HasSettings reports whether reads of a collection may have query settings: otherwise the shape of a
	// read need not be computed. Set by plans.
	HasSettings func(ns collection.Namespace) bool
	// ApplySettings applies the query settings of its shape to a read. Errors: QueryRejectedBySettings (411).
	// Set by plans.
	ApplySettings func(c *Call, x *explained.Explained) error
	// Explain replies with the plan of a command. Set by plans.
	Explain func(c *Call, x *explained.Explained) error

	// Dropped is called when a namespace was dropped, or when a drop found nothing. Set by shards, which keeps
	// zones of collections that do not exist yet.
	Dropped func(ns collection.Namespace)
	// UpdateVirtual runs an update of a virtual collection; done is false if the namespace is not one that
	// accepts updates. Set by shards.
	UpdateVirtual func(c *Call, ns collection.Namespace, m *cluster.Modify) (r cluster.Modified, done bool, err error)
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

// ErrEndless is returned by Fail if time limits are to be ignored.
var ErrEndless = errors.New("a fail point takes time limits away")

// noHooks returns the hooks of a server without rooms.
func noHooks() Hooks {
	return Hooks{
		Login:           func(*Call) (*Login, error) { return nil, nil },
		FirstUser:       func(*Call) bool { return false },
		Speculate:       func(*Call, bson.Value) {},
		Mechanisms:      func(*Call, auth.Name) {},
		Security:        func(*Call, *bson.Builder) {},
		DefaultConcerns: func(*Call) {},
		ReadLimit:       func() time.Duration { return 0 },
		Attached:        func() {},
		Parameter:       func(string) float64 { return 0 },
		Fail:            func(*Call, FailPlace) error { return nil },
		EnterWrite:      func(*Call) error { return nil },
		LeaveWrite:      func() {},
		Begin:           func(*Call) {},
		Profiled:        func(string) bool { return false },
		HasSettings:     func(collection.Namespace) bool { return false },
		ApplySettings:   func(*Call, *explained.Explained) error { return nil },
		Explain:         func(*Call, *explained.Explained) error { return nil },
		Dropped:         func(collection.Namespace) {},
		UpdateVirtual: func(*Call, collection.Namespace, *cluster.Modify) (cluster.Modified, bool, error) {
			return cluster.Modified{}, false, nil
		},
	}
}

// Outcome holds the outcome of a command.
type Outcome struct {
	Err    error // nil if it succeeded
	Took   time.Duration
	Charge ratelimit.MicroRU
}

// Refused reports whether the command failed for lack of request units.
func (e Outcome) Refused() bool {
	if e.Err == nil {
		return false
	}
	var known *mongoerr.Error
	var throttled *ratelimit.Throttled
	return errors.As(e.Err, &throttled) || errors.As(e.Err, &known) && known.Code == ratelimit.CodeThrottled
}

// OnEnd registers fn, an observer. It is called for each command that has a row, after its reply is complete
// and before the reply is sent.
func (s *Server) OnEnd(fn func(c *Call, e Outcome)) { s.onEnd = append(s.onEnd, fn) }
