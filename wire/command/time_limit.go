package command

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/shard/cluster"
)

// limitTime sets the time limit of the command on the command's context. If timeLimit returns no limit, or a fail
// point disables time limits, it does nothing. Errors: errors of timeLimit and LimitTime.
func (s *Server) limitTime(c *Call) (stop context.CancelFunc, err error) {
	d, limited, err := c.timeLimit()
	if err != nil || !limited {
		return func() {}, err
	}
	return c.LimitTime(d)
}

// LimitTime ends the context of the command after d with cluster.ErrTimeLimit, unless a fail point disables time
// limits. stop releases the timer. Errors: cluster.ErrTimeLimit if a fail point makes time limits expire at once.
func (c *Call) LimitTime(d time.Duration) (stop context.CancelFunc, err error) {
	if err := c.Server.FailPoints.Fail(c, FailTimeLimit); errors.Is(err, ErrEndless) {
		return func() {}, nil
	} else if err != nil {
		return nil, err
	}
	c.Ctx, stop = context.WithTimeoutCause(c.Ctx, d, cluster.ErrTimeLimit)
	return stop, nil
}

// timeLimit returns maxTimeMS, or else the default; false without a limit, with maxTimeMS: 0, and for a getMore with
// maxTimeMS.
// Manual: reference/operator/meta/maxTimeMS. Errors: BadValue (2), FailedToParse (9), TypeMismatch (14).
func (c *Call) timeLimit() (time.Duration, bool, error) {
	v, ok := c.Body.Lookup("maxTimeMS")
	if !ok || v.IsNullish() {
		d := c.defaultTimeLimit()
		return d, d > 0, nil
	}
	if !v.IsNumber() {
		return 0, false, mongoerr.WrongType(c.Field("maxTimeMS"), v.Type.String(), "long", "int", "decimal", "double")
	}
	n, ok := v.AsInt64()
	if !ok {
		return 0, false, mongoerr.New(mongoerr.FailedToParse, "maxTimeMS has non-integral value")
	}
	if n < 0 || n > math.MaxInt32 {
		return 0, false, mongoerr.New(mongoerr.BadValue, "%d value for maxTimeMS is out of range [0, 2147483647]", n)
	}
	if n == 0 || c.Def.Op == OpGetMore { // maxTimeMS of a getMore bounds its wait for documents
		return 0, false, nil
	}
	return time.Duration(n) * time.Millisecond, true, nil
}
