package mql

import (
	"sync/atomic"
)

// MemoryLimits is what the blocking operators of a command may hold before they
// spill. MongoDB has a parameter for each kind; here all kinds of a command share
// one budget, the smallest of them.
// Manual: reference/parameters, core/aggregation-pipeline-limits.
type MemoryLimits struct{ Sort, Group, Windows atomic.Int64 }

// Init sets the limits that hold unless a parameter is set.
func (m *MemoryLimits) Init() {
	for _, l := range [...]*atomic.Int64{&m.Sort, &m.Group, &m.Windows} {
		l.Store(StageBytesMax)
	}
}

// Bytes is the budget of a command.
func (m *MemoryLimits) Bytes() int64 {
	return max(1, min(m.Sort.Load(), m.Group.Load(), m.Windows.Load()))
}
