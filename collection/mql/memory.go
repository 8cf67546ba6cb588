package mql

import (
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
)

// StageBytesMax is what one blocking operator may hold before it spills.
// Manual: core/aggregation-pipeline-limits#memory-restrictions.
const StageBytesMax = 100 << 20

// RecordsBytesMax is what the sets of records of one command may hold, by which plans
// tell what they have met already: several million records. These sets cannot spill, so
// they have a limit of their own, and a sort beside them keeps its memory.
const RecordsBytesMax = 256 << 20

// What a command takes of the memory that all share: nothing while it holds less than
// uncountedBytes, so that small commands neither meet there nor are ever refused, and
// then in steps.
const (
	uncountedBytes = 64 << 10
	stepBytes      = 256 << 10
)

// Memory is a budget of bytes shared by the goroutines of one blocking
// operator or command, which is part of what all commands of a server share. Safe for
// concurrent use.
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
	values     atomic.Int64 // see Hold
	peak       atomic.Int64
	spills     Spills
	// AllSpills counts those of all commands; nil counts nothing.
	AllSpills *Spills

	shared *ratelimit.Memory // of all commands; nil has no end
	mu     sync.Mutex
	taken  atomic.Int64 // of shared; changed under mu
	short  atomic.Bool  // shared had no room when it was asked last
}

// NewMemory makes a budget of max bytes.
func NewMemory(max int64) *Memory { return &Memory{max: max, RecordsMax: RecordsBytesMax} }

// Beside makes a budget of max bytes of its own within the same memory of all. Release
// must follow.
func (m *Memory) Beside(max int64) *Memory {
	return &Memory{max: max, RecordsMax: RecordsBytesMax, shared: m.shared, AllSpills: m.AllSpills}
}

// Reset makes m a fresh budget of max bytes that may not spill, part of shared, nil for
// none.
func (m *Memory) Reset(max int64, shared *ratelimit.Memory) {
	m.used.Store(0)
	m.records.Store(0)
	m.values.Store(0)
	if m.peak.Load() != 0 {
		m.peak.Store(0)
	}
	m.Release()
	m.spills.reset()
	m.max, m.Spill, m.SpillDir, m.RecordsMax, m.shared = max, false, "", RecordsBytesMax, shared
}

// Release gives back what the command has of the memory of all, when it has ended.
func (m *Memory) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shared.Give(m.taken.Swap(0))
	m.short.Store(false)
}

// Max is the size of the budget in bytes.
func (m *Memory) Max() int64 { return m.max }

// Used is how many bytes are counted now, those of sets of records and of values included.
func (m *Memory) Used() int64 { return m.used.Load() + m.records.Load() + m.values.Load() }

// Peak is the most that was ever counted at once.
func (m *Memory) Peak() int64 { return m.peak.Load() }

// reach notes what is counted now, if it is more than ever.
func (m *Memory) reach() {
	used := m.Used()
	for {
		peak := m.peak.Load()
		if used <= peak || m.peak.CompareAndSwap(peak, used) {
			return
		}
	}
}

// Grow counts n more bytes and reports whether the budget still holds, and that of all
// commands. The caller that gets false spills (if Spill) or returns TooMuch, and in any
// case gives back what it counted with Shrink when it lets go of the memory.
func (m *Memory) Grow(n int) bool {
	fits := m.used.Add(int64(n)) <= m.max
	m.reach()
	return m.cover() && fits
}

// Shrink gives n bytes back.
func (m *Memory) Shrink(n int) {
	m.used.Add(-int64(n))
	m.uncover()
}

// GrowRecords counts n more bytes of sets of records, fewer for a negative n, and
// reports whether their limit still holds, and that of all commands.
func (m *Memory) GrowRecords(n int) bool {
	fits := m.records.Add(int64(n)) <= m.RecordsMax
	if n < 0 {
		m.uncover()
		return fits
	}
	m.reach()
	return m.cover() && fits
}

// Need counts n more bytes of something that can neither spill nor be done without;
// Shrink gives them back. The caller has a limit of its own for it.
// Errors: ExceededMemoryLimit (146) if all commands together hold too much.
func (m *Memory) Need(n int, what string) error {
	m.used.Add(int64(n))
	if m.reach(); m.cover() {
		return nil
	}
	return m.tooLittle(what)
}

// Hold counts n more bytes of values that expressions make, before they are made; LetGo gives
// them back. They are beside the budget of the operators, so that a sort keeps its memory, and
// of what all share.
// Errors: ExceededMemoryLimit (146) if all commands together would hold too much; nothing is
// counted then.
func (m *Memory) Hold(n int, what string) error {
	m.values.Add(int64(n))
	if !m.claim() {
		m.values.Add(-int64(n))
		return m.tooLittle(what)
	}
	m.reach()
	return nil
}

// LetGo gives n bytes of values back.
func (m *Memory) LetGo(n int) {
	m.values.Add(-int64(n))
	m.uncover()
}

// claim is cover for what is not held yet: it takes nothing where there is no room.
func (m *Memory) claim() bool {
	if m.shared == nil || m.Used() <= m.taken.Load()+uncountedBytes {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	missing := m.Used() - m.taken.Load()
	if missing <= uncountedBytes {
		return true
	}
	for _, step := range [2]int64{max(missing, stepBytes), missing} {
		if m.shared.Take(step) {
			m.taken.Add(step)
			return true
		}
	}
	return false
}

// tooLittle is the error of what needs memory that the server does not have.
func (m *Memory) tooLittle(what string) error {
	return mongoerr.New(mongoerr.ExceededMemoryLimit,
		"%s needs more memory than the server has left: the commands that run now may use %d bytes together, those of one user two thirds of what others leave; "+
			"try again later, run fewer at once, or raise --work-memory",
		what, m.shared.Max())
}

// cover takes what is held of the memory of all, and reports whether there is room. What
// is held without is counted there all the same.
func (m *Memory) cover() bool {
	if m.shared == nil || m.Used() <= m.taken.Load()+uncountedBytes {
		return !m.short.Load()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	missing := m.Used() - m.taken.Load()
	if missing <= uncountedBytes {
		return !m.short.Load()
	}
	step := max(missing, stepBytes)
	ok := m.shared.Take(step)
	if !ok {
		step = missing
		m.shared.Force(step)
	}
	m.taken.Add(step)
	m.short.Store(!ok)
	return ok
}

// uncover gives back what is not needed any more.
func (m *Memory) uncover() {
	if taken := m.taken.Load(); taken == 0 || taken-m.Used() < 2*stepBytes && m.Used() > 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if spare := m.taken.Load() - m.Used(); spare > 0 {
		m.taken.Add(-spare)
		m.shared.Give(spare)
		m.short.Store(false)
	}
}

// CanSpill reports whether temporary files are allowed.
func (m *Memory) CanSpill() bool { return m.Spill && m.SpillDir != "" }

// Due tells an operator that was refused memory whether to spill now: when it
// may, and itself holds a fair part of the budget. An operator that holds little
// goes on instead, since others use the budget up, and runs of a few rows each
// would cost more than they free.
func (m *Memory) Due(held int) bool { return !m.CanSpill() || int64(held) >= m.fair() }

// fair is from how many bytes on an operator spills: less if it is not the command that
// holds too much, but all of them.
func (m *Memory) fair() int64 {
	own := m.max / 8
	if m.short.Load() {
		return min(own, max(64<<10, min(m.shared.Max()/256, 1<<20)))
	}
	return own
}

// TooMuch is the error of an operator that may not spill.
func (m *Memory) TooMuch(what string) error {
	if m.short.Load() && m.used.Load() <= m.max {
		return mongoerr.New(292, "Exceeded memory limit for %s, but didn't allow external spilling; pass allowDiskUse:true to opt in, or try again later: "+
			"the commands that run now use up the %d bytes that they may together, or those of this user their part (--work-memory)", what, m.shared.Max())
	}
	return mongoerr.New(292, "Exceeded memory limit for %s, but didn't allow external spilling; pass allowDiskUse:true to opt in", what)
}
