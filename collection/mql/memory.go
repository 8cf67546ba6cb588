package mql

import (
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
)

// StageBytesMax is the limit of bytes that one blocking operator holds before it spills.
// Manual: core/aggregation-pipeline-limits#memory-restrictions.
const StageBytesMax = 100 << 20

// RecordsBytesMax limits the bytes of all record sets of one command: sets of records that a plan has
// already seen, several million records. These sets cannot spill, so they have their own limit, and a
// sort of the same command keeps its memory.
const RecordsBytesMax = 256 << 20

// A command takes from the memory that all commands share in steps of stepBytes. It takes nothing while
// it holds less than uncountedBytes, so that small commands neither contend for the shared counter nor
// are ever refused.
const (
	uncountedBytes = 64 << 10
	stepBytes      = 256 << 10
)

// Memory is a budget of bytes that the goroutines of one blocking operator or command share. It is part
// of the memory limit of all commands of a server. Safe for concurrent use.
type Memory struct {
	max  int64
	used atomic.Int64
	// Spill permits operators to write to SpillDir when the budget is used up (allowDiskUse); otherwise
	// they fail.
	Spill bool
	// SpillDir is the directory of temporary files; empty forbids them.
	SpillDir string
	// RecordsMax is the limit of GrowRecords.
	RecordsMax int64
	records    atomic.Int64
	values     atomic.Int64 // see Hold
	peak       atomic.Int64
	spills     Spills
	// AllSpills counts the spills of all commands; nil counts nothing.
	AllSpills *Spills

	shared *ratelimit.Memory // limit of all commands; nil means no limit
	mu     sync.Mutex
	taken  atomic.Int64 // bytes taken from shared; changed under mu
	short  atomic.Bool  // shared had no room at the last request
}

// NewMemory makes a budget of max bytes.
func NewMemory(max int64) *Memory { return &Memory{max: max, RecordsMax: RecordsBytesMax} }

// Beside returns a new budget of max bytes under the same shared limit. The caller must Release it.
func (m *Memory) Beside(max int64) *Memory {
	return &Memory{max: max, RecordsMax: RecordsBytesMax, shared: m.shared, AllSpills: m.AllSpills}
}

// Reset makes m a fresh budget of max bytes that may not spill. Its bytes count in shared, if that is
// not nil.
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

// Release returns the command's bytes to the shared memory when the command has ended.
func (m *Memory) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shared.Give(m.taken.Swap(0))
	m.short.Store(false)
}

// Max returns the size of the budget in bytes.
func (m *Memory) Max() int64 { return m.max }

// Used returns the bytes counted now, including those of record sets and values.
func (m *Memory) Used() int64 { return m.used.Load() + m.records.Load() + m.values.Load() }

// Peak returns the largest number of bytes that were counted at any time.
func (m *Memory) Peak() int64 { return m.peak.Load() }

// reach raises the peak to the bytes counted now.
func (m *Memory) reach() {
	used := m.Used()
	for {
		peak := m.peak.Load()
		if used <= peak || m.peak.CompareAndSwap(peak, used) {
			return
		}
	}
}

// Grow counts n more bytes and reports whether both the budget and the shared limit still hold. A caller
// that gets false spills (if Spill) or returns TooMuch. In any case it calls Shrink when it frees the
// memory.
func (m *Memory) Grow(n int) bool {
	fits := m.used.Add(int64(n)) <= m.max
	m.reach()
	return m.cover() && fits
}

// Shrink returns n bytes.
func (m *Memory) Shrink(n int) {
	m.used.Add(-int64(n))
	m.uncover()
}

// GrowRecords counts n more bytes of record sets, fewer for a negative n, and reports whether both their
// limit and the shared limit still hold.
func (m *Memory) GrowRecords(n int) bool {
	fits := m.records.Add(int64(n)) <= m.RecordsMax
	if n < 0 {
		m.uncover()
		return fits
	}
	m.reach()
	return m.cover() && fits
}

// Need counts n more bytes of something that is necessary and cannot spill. Shrink returns them. The
// caller enforces its own limit.
// Errors: ExceededMemoryLimit (146) if all commands together hold too much.
func (m *Memory) Need(n int, what string) error {
	m.used.Add(int64(n))
	if m.reach(); m.cover() {
		return nil
	}
	return m.tooLittle(what)
}

// Hold counts n more bytes of values that expressions make, before they are made; LetGo returns them.
// Values do not count in the budget of the operators, so that a sort keeps its memory, but they count in
// the shared limit.
// Errors: ExceededMemoryLimit (146) if all commands together would hold too much; nothing is counted
// then.
func (m *Memory) Hold(n int, what string) error {
	m.values.Add(int64(n))
	if !m.claim() {
		m.values.Add(-int64(n))
		return m.tooLittle(what)
	}
	m.reach()
	return nil
}

// LetGo returns n bytes of values.
func (m *Memory) LetGo(n int) {
	m.values.Add(-int64(n))
	m.uncover()
}

// claim is cover for bytes that are not allocated yet: if there is no room, it takes nothing.
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

// tooLittle returns the error for work that needs more memory than the server has.
func (m *Memory) tooLittle(what string) error {
	return mongoerr.New(mongoerr.ExceededMemoryLimit,
		"%s needs more memory than the server has left: the commands that run now may use %d bytes together, those of one user two thirds of what others leave; "+
			"try again later, run fewer at once, or raise --work-memory",
		what, m.shared.Max())
}

// cover takes bytes from the shared memory for what is held, and reports whether there was room. Bytes
// that are held without room are counted there too.
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

// uncover returns shared bytes that are not needed any more.
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

// Due reports whether an operator that was refused memory must spill (or fail) now: if it may not spill,
// or if it holds a fair part of the budget itself. An operator that holds little continues instead:
// others use the budget up, and spilled runs of a few rows each would cost more than they free.
func (m *Memory) Due(held int) bool { return !m.CanSpill() || int64(held) >= m.fair() }

// fair returns the number of bytes from which on an operator spills. It is smaller if the shared limit
// is exceeded, not that of the command.
func (m *Memory) fair() int64 {
	own := m.max / 8
	if m.short.Load() {
		return min(own, max(64<<10, min(m.shared.Max()/256, 1<<20)))
	}
	return own
}

// TooMuch returns the error of an operator that may not spill.
func (m *Memory) TooMuch(what string) error {
	if m.short.Load() && m.used.Load() <= m.max {
		return mongoerr.New(292, "Exceeded memory limit for %s, but didn't allow external spilling; pass allowDiskUse:true to opt in, or try again later: "+
			"the commands that run now use up the %d bytes that they may together, or those of this user their part (--work-memory)", what, m.shared.Max())
	}
	return mongoerr.New(292, "Exceeded memory limit for %s, but didn't allow external spilling; pass allowDiskUse:true to opt in", what)
}
