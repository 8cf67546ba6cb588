package jobs

import (
	"context"

	"github.com/cantledb/cantle/collection/changelog"
	"github.com/cantledb/cantle/storage"
)

// logMark says how much of the change log lies before a timestamp, counted from
// when the log began to be followed.
type logMark struct {
	ts    storage.Timestamp // the last record of the stretch
	bytes int64             // of the stretch
	docs  int64             // records of it
}

// markBytes is the length of a stretch of the log: the grain of truncation.
const markBytes = 4 << 20

// mark counts a record of the log.
func (c *counts) mark(ts storage.Timestamp, size int) {
	n := len(c.marks)
	if n == 0 || c.marks[n-1].bytes >= markBytes && c.marks[n-1].ts != ts {
		c.marks = append(c.marks, logMark{})
		n++
	}
	c.marks[n-1].ts = ts
	c.marks[n-1].bytes += int64(size)
	c.marks[n-1].docs++
}

// LogKept is how many records of the change log are kept and their bytes, as far
// as they were written since the server was started.
func (r *Runner) LogKept() (docs, bytes int64) {
	r.counts.pass.Lock()
	defer r.counts.pass.Unlock()
	for _, m := range r.counts.marks {
		docs, bytes = docs+m.docs, bytes+m.bytes
	}
	return docs, bytes
}

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
		total := int64(0)
		for i := len(c.marks) - 1; i >= 0; i-- {
			if total += c.marks[i].bytes; total > r.LogBytes {
				upTo = max(upTo, c.marks[i].ts)
				break
			}
		}
	}
	upTo = min(upTo, c.saved)
	for len(c.marks) > 0 && c.marks[0].ts <= upTo {
		c.marks = c.marks[1:]
	}
	c.pass.Unlock()
	if upTo == 0 {
		return nil
	}
	if err := r.Store.TruncateLog(ctx, changelog.Commands, upTo); err != nil {
		return err
	}
	return r.Store.TruncateLog(ctx, changelog.Stream, upTo)
}
