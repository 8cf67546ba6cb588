package jobs

import (
	"context"

	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
)

func (r *Runner) truncateLoop(ctx context.Context) {
	for sleep(ctx, r.TruncateEvery, nil) {
		if r.Duties.Has(dutyCounts) {
			r.report("truncate", r.Truncate(r.onDuty(ctx, dutyCounts)))
		}
	}
}

// Truncate drops the change log that is older than LogSeconds or beyond
// LogBytes, but nothing that the stored counts still need.
func (r *Runner) Truncate(ctx context.Context) error {
	if err := r.countLog(ctx); err != nil {
		return err
	}
	if err := r.checkpoint(ctx, true); err != nil {
		return err
	}
	c := &r.counts
	c.pass.Lock()
	upTo := storage.Timestamp(0)
	if old := r.Now().Unix() - r.LogSeconds; old > 0 {
		upTo = storage.MakeTimestamp(uint32(old), 0)
	}
	if r.LogBytes > 0 {
		upTo = max(upTo, c.log.beyond(r.LogBytes))
	}
	upTo = min(upTo, c.saved)
	c.log.cut(upTo)
	c.pass.Unlock()
	if upTo == 0 {
		return nil
	}
	if err := r.Store.TruncateLog(ctx, changelog.Commands, upTo); err != nil {
		return err
	}
	return r.Store.TruncateLog(ctx, changelog.Stream, upTo)
}
