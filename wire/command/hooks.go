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

// Hooks are what the chain asks rooms, and what a room asks another through the chain. The
// room that knows the answer sets the hook when it joins the server; until then the answer
// is that there is nothing: nobody is logged in, nothing is limited, nothing fails.
type Hooks struct {
	// Login returns who uses the connection, with the privileges of this moment; nil for
	// nobody. Answered by access. Errors: why the command is to end.
	Login func(c *Call) (*Login, error)
	// FirstUser reports a client on this machine that may make the first user or role.
	// Answered by access.
	FirstUser func(c *Call) bool
	// Speculate takes the first step of a login that came within a hello. Answered by access.
	Speculate func(c *Call, first bson.Value)
	// Mechanisms appends to the reply of a hello how a user can log in. Answered by access.
	Mechanisms func(c *Call, user auth.Name)
	// Security appends the section security of serverStatus. Answered by access.
	Security func(c *Call, b *bson.Builder)

	// DefaultConcerns fills in the concerns that the command leaves out. Answered by settings.
	DefaultConcerns func(c *Call)
	// ReadLimit is how long a read may take that names no limit; 0 is as long as it likes.
	// Answered by settings.
	ReadLimit func() time.Duration
	// Attached sees that the server stands above its cluster, on which the cluster parameters
	// take effect from then on. Answered by settings.
	Attached func()
	// Parameter returns the value of a server parameter that is a number or a boolean, where
	// 1 is true. Answered by settings.
	Parameter func(name string) float64

	// Fail fails a command at a place, if a test has asked for that. Errors: any; for a
	// connection to be closed wire.ErrHangUp. Answered by failpoint.
	Fail func(c *Call, at FailPlace) error

	// EnterWrite waits until writes are let in, and counts one in; while users may not write,
	// its operation says so. Errors: the cause of the command's context. Answered by status,
	// which has the commands fsync and setUserWriteBlockMode.
	EnterWrite func(c *Call) error
	// LeaveWrite counts a write out that EnterWrite let in.
	LeaveWrite func()
	// Begin sees each command before it runs. Answered by status, for the profiler.
	Begin func(c *Call)
	// Profiled reports that commands on a database are recorded. Answered by status.
	Profiled func(db string) bool

	// HasSettings reports that reads of a collection may have query settings: only then is
	// the shape of one worth finding out. Answered by plans.
	HasSettings func(ns collection.Namespace) bool
	// ApplySettings lets the query settings of its shape take effect on a read.
	// Errors: QueryRejectedBySettings (411). Answered by plans.
	ApplySettings func(c *Call, x *explained.Explained) error
	// Explain answers with the plan of a command. Answered by plans.
	Explain func(c *Call, x *explained.Explained) error

	// Gone sees that a namespace was dropped, or that there was nothing to drop. Answered by
	// shards, which keeps zones of collections that do not exist yet.
	Gone func(ns collection.Namespace)
	// UpdateVirtual does an update of a virtual collection; done is false where the
	// namespace is none that takes updates. Answered by shards.
	UpdateVirtual func(c *Call, ns collection.Namespace, m *cluster.Modify) (r cluster.Modified, done bool, err error)
}

// FailPlace is where a command can be made to fail.
type FailPlace uint8

// The places: a command about to run; one with a time limit; a getMore whose cursor was
// found; a retryable write about to commit.
const (
	FailCommand FailPlace = iota
	FailTimeLimit
	FailGetMore
	FailWrite
)

// ErrEndless is Fail's answer where no time limit is to hold.
var ErrEndless = errors.New("a fail point takes time limits away")

// noHooks are the hooks of a server that no room has joined.
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
		Gone:            func(collection.Namespace) {},
		UpdateVirtual: func(*Call, collection.Namespace, *cluster.Modify) (cluster.Modified, bool, error) {
			return cluster.Modified{}, false, nil
		},
	}
}

// Ended is what is known of a command that is over.
type Ended struct {
	Err    error // nil if it succeeded
	Took   time.Duration
	Charge ratelimit.MicroRU
}

// Refused reports that the command failed for lack of request units.
func (e Ended) Refused() bool {
	if e.Err == nil {
		return false
	}
	var known *mongoerr.Error
	var throttled *ratelimit.Throttled
	return errors.As(e.Err, &throttled) || errors.As(e.Err, &known) && known.Code == ratelimit.CodeThrottled
}

// OnEnd has fn called after each command that exists, when its reply is complete and
// before it is sent.
func (s *Server) OnEnd(fn func(c *Call, e Ended)) { s.onEnd = append(s.onEnd, fn) }
