package jobs

import (
	"context"

	"github.com/cantledb/cantle/collection/mql"
)

// laneKey is the key of a job's lane in its context.
type laneKey struct{}

// laneUser takes turns with the users whose commands compute for long.
const laneUser = "background work"

// computes is the context of a job, which has one goroutine: once it has computed for a
// while it needs a lane, as commands do.
func (r *Runner) computes(ctx context.Context) context.Context {
	lane := &mql.Lane{}
	lane.Begin(r.Processor, laneUser)
	return context.WithValue(ctx, laneKey{}, lane)
}

// laneOf is the lane of a job; nil for what is short.
func laneOf(ctx context.Context) *mql.Lane {
	lane, _ := ctx.Value(laneKey{}).(*mql.Lane)
	return lane
}
