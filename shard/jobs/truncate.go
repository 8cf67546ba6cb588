package jobs

import (
	"context"

	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
)

func (r *Runner) truncateLoop(ctx context.Context) {
	for sleep(ctx, r.TruncateEvery, nil) {
		if r.Owners.Owns(jobCounts) {
			r.report("truncate", r.Truncate(r.asOwner(ctx, jobCounts)))
		}
	}
}

// Truncate drops the part of the change log that is older than LogSeconds or exceeds LogBytes, except what
// the stored counts still need.
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
	c.pass.Unlock()
	return r.truncate(ctx, upTo)
}

// truncate drops the change log up to a time, except the part after the last durable checkpoint, which the stored
// counts still need.
func (r *Runner) truncate(ctx context.Context, upTo storage.Timestamp) error {
	c := &r.counts
	c.pass.Lock()
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

// Shorten drops the oldest records of the change log: at least the given bytes of them, or fewer if the stored counts
// need the rest. It returns the number of bytes dropped. It is called when the disk is full, so that the log records
// of deletes take no more space than is free.
func (r *Runner) Shorten(ctx context.Context, bytes int64) (dropped int64, err error) {
	if err := r.checkpoint(ctx, true); err != nil {
		return 0, err
	}
	r.counts.pass.Lock()
	saved := r.counts.saved
	r.counts.pass.Unlock()
	upTo := storage.Timestamp(0)
	_, err = r.Store.ReadLog(ctx, changelog.Stream, 0, func(ts, _ storage.Timestamp, rec []byte) bool {
		if ts > saved || dropped >= bytes && ts != upTo {
			return false
		}
		dropped, upTo = dropped+int64(len(rec)), ts
		return true
	})
	if err != nil || upTo == 0 {
		return 0, err
	}
	return dropped, r.truncate(ctx, upTo)
}
