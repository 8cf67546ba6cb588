package mql

import (
	"sync/atomic"

	"github.com/cantledb/cantle/wire/mongoerr"
)

// StageBytesMax is what one blocking operator may hold before it spills.
// Manual: core/aggregation-pipeline-limits#memory-restrictions.
const StageBytesMax = 100 << 20

// RecordsBytesMax is what the sets of records of one command may hold, by which plans
// tell what they have met already: several million records. These sets cannot spill, so
// they have a limit of their own, and a sort beside them keeps its memory.
const RecordsBytesMax = 256 << 20

// Memory is a budget of bytes shared by the goroutines of one blocking
// operator or command. Safe for concurrent use.
type Memory struct {
	max  int64
	used atomic.Int64
	// Spill says that operators may write to SpillDir when the budget is used
	// up (allowDiskUse); otherwise they fail.
	Spill bool
	// SpillDir is where temporary files go; empty forbids them.
	SpillDir string
	// RecordsMax is the limit of GrowRecords.
	RecordsMax int64
	records    atomic.Int64
}

// NewMemory makes a budget of max bytes.
func NewMemory(max int64) *Memory { return &Memory{max: max, RecordsMax: RecordsBytesMax} }

// Reset makes m a fresh budget of max bytes that may not spill.
func (m *Memory) Reset(max int64) {
	m.max, m.Spill, m.SpillDir, m.RecordsMax = max, false, "", RecordsBytesMax
	m.used.Store(0)
	m.records.Store(0)
}

// Max is the size of the budget in bytes.
func (m *Memory) Max() int64 { return m.max }

// Used is how many bytes are counted now, those of sets of records included.
func (m *Memory) Used() int64 { return m.used.Load() + m.records.Load() }

// Grow counts n more bytes and reports whether the budget still holds. The
// caller that gets false spills (if Spill) or returns TooMuch, and in any case
// gives back what it counted with Shrink when it lets go of the memory.
func (m *Memory) Grow(n int) bool { return m.used.Add(int64(n)) <= m.max }

// Shrink gives n bytes back.
func (m *Memory) Shrink(n int) { m.used.Add(-int64(n)) }

// GrowRecords counts n more bytes of sets of records, fewer for a negative n, and
// reports whether their limit still holds.
func (m *Memory) GrowRecords(n int) bool { return m.records.Add(int64(n)) <= m.RecordsMax }

// CanSpill reports whether temporary files are allowed.
func (m *Memory) CanSpill() bool { return m.Spill && m.SpillDir != "" }

// Due tells an operator that was refused memory whether to spill now: when it
// may, and itself holds a fair part of the budget. An operator that holds little
// goes on instead, since others use the budget up, and runs of a few rows each
// would cost more than they free.
func (m *Memory) Due(held int) bool { return !m.CanSpill() || int64(held) >= m.max/8 }

// TooMuch is the error of an operator that may not spill.
func (m *Memory) TooMuch(what string) error {
	return mongoerr.New(292, "Exceeded memory limit for %s, but didn't allow external spilling; pass allowDiskUse:true to opt in", what)
}
