package command

import (
	"sync/atomic"

	"github.com/cantledb/cantle/collection/mql"
)

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
