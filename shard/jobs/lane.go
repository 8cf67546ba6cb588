package jobs

import (
	"context"

	"github.com/cantledb/cantle/collection/mql"
)

// laneKey is the key of a job's lane in its context.
type laneKey struct{}

// laneUser is the user as which jobs share processor slots with the users of long commands.
const laneUser = "background work"

// computes returns the context of a job, which has one goroutine. After computing for a while the job needs a
// slot, as commands do.
func (r *Runner) computes(ctx context.Context) context.Context {
	lane := &mql.Lane{}
	lane.Begin(r.Processor, laneUser)
	return context.WithValue(ctx, laneKey{}, lane)
}

// laneOf returns the lane of a job; nil for short work.
func laneOf(ctx context.Context) *mql.Lane {
	lane, _ := ctx.Value(laneKey{}).(*mql.Lane)
	return lane
}
