package status

import (
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/wire/command"
)

// queryMemory counts the memory of commands since the start, for metrics.query. It is safe for concurrent use.
// Manual: reference/command/serverStatus, release-notes/9.0 (Per-Operation Memory Limit).
type queryMemory struct {
	refused atomic.Int64 // commands that a memory limit has ended
	peak    atomic.Int64 // the most bytes that one command, or one cursor, has held
}

// add counts a completed command with its memory and its error.
func (x *queryMemory) add(m *mql.Memory, err error) {
	if err != nil {
		if code := mongoerr.CodeOf(err); code == mongoerr.ExceededMemoryLimit || code == mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed {
			x.refused.Add(1)
		}
	}
	if m == nil {
		return
	}
	for peak := m.Peak(); ; {
		most := x.peak.Load()
		if peak <= most || x.peak.CompareAndSwap(most, peak) {
			return
		}
	}
}

// appendTo appends the counters and the limit: the memory for all commands, of which a user's command may take its
// user's share.
func (x *queryMemory) appendTo(c *command.Call, b *bson.Builder) {
	b.Int64("configuredMaxMemoryUsageBytesPerOperation", c.Server.WorkMemory.Max())
	b.Int64("operationsFailedDueToMemoryLimit", x.refused.Load())
	b.Int64("peakMemoryUsageOperation", x.peak.Load())
}
