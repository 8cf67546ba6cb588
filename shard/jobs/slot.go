package jobs

import (
	"context"

	"github.com/cantledb/cantle/collection/mql"
)

// slotKey is the key of a job's lane in its context.
type slotKey struct{}

// slotUser is the name under which jobs wait for processor slots, as one user among those whose commands take long.
const slotUser = "background work"

// withSlot returns the context of a job, with a lane (mql.SlotHolder) for its one goroutine. After computing for a
// while the job needs a processor slot, as commands do.
func (r *Runner) withSlot(ctx context.Context) context.Context {
	lane := &mql.SlotHolder{}
	lane.Begin(r.CPUSlots, slotUser)
	return context.WithValue(ctx, slotKey{}, lane)
}

// slotOf returns the lane of a job; nil for short work.
func slotOf(ctx context.Context) *mql.SlotHolder {
	lane, _ := ctx.Value(slotKey{}).(*mql.SlotHolder)
	return lane
}
