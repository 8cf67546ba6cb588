package command

import (
	"sync/atomic"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// MemoryShare is one of the shares into which the server's memory is divided.
type MemoryShare struct {
	Name   string
	Memory *ratelimit.Memory
}

// statusWorkMemory tells what clients make the server hold: all of it, and its parts.
func statusWorkMemory(c *Call, b *bson.Builder) {
	for _, s := range c.MemoryShares {
		st := s.Memory.Stats()
		b.BeginDoc(s.Name)
		b.Int64("maxBytes", st.Max)
		b.Int64("bytes", st.Used)
		b.Int64("peakBytes", st.Peak)
		b.Int64("refused", st.Refused)
		b.End()
	}
}

// memoryLimits is what the blocking operators of a command may hold before they
// spill. MongoDB has a parameter for each kind; here all kinds of a command share
// one budget, the smallest of them.
// Manual: reference/parameters, core/aggregation-pipeline-limits.
type memoryLimits struct{ sort, group, windows atomic.Int64 }

// init sets the limits that hold unless a parameter is set.
func (m *memoryLimits) init() {
	for _, l := range [...]*atomic.Int64{&m.sort, &m.group, &m.windows} {
		l.Store(mql.StageBytesMax)
	}
}

// asBytes converts the value of a parameter.
func asBytes(n float64) int64 { return int64(min(n, 1<<62)) }

// bytes is the budget of a command.
func (m *memoryLimits) bytes() int64 {
	return max(1, min(m.sort.Load(), m.group.Load(), m.windows.Load()))
}
