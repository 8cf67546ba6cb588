package mql

import (
	"sync/atomic"
)

// MemoryLimits holds the limits in bytes of MongoDB's parameters for a sort, a group and a window before they spill.
// Here all operators of a command share one limit, the smallest of the three. Manual: reference/parameters,
// core/aggregation-pipeline-limits.
type MemoryLimits struct{ Sort, Group, Windows atomic.Int64 }

// Init sets the default limits.
func (m *MemoryLimits) Init() {
	for _, l := range [...]*atomic.Int64{&m.Sort, &m.Group, &m.Windows} {
		l.Store(StageBytesMax)
	}
}

// Bytes returns the budget of a command.
func (m *MemoryLimits) Bytes() int64 {
	return max(1, min(m.Sort.Load(), m.Group.Load(), m.Windows.Load()))
}
