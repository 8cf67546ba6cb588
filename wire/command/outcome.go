package command

import (
	"errors"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
)

// Outcome holds the outcome of a command.
type Outcome struct {
	Err    error // nil if it succeeded
	Took   time.Duration
	Charge ratelimit.MicroRU
	// RefusedBy counts the documents or statements that were refused for lack of request units, by limit: those of a write, at
	// least one if the whole command was.
	RefusedBy ratelimit.LimitCounts
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

// OnEnd registers fn, an observer that the server calls for each command with a row and a reply, after the reply is
// complete and before it is sent. It must be called before the server serves.
func (s *Server) OnEnd(fn func(c *Call, e Outcome)) { s.onEnd = append(s.onEnd, fn) }
