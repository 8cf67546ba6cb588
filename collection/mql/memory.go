package mql

import (
	"sync"
	"sync/atomic"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
)

// StageBytesMax is the default number of bytes that the blocking operators (such as sorts) of a command together hold
// before they spill. Manual: core/aggregation-pipeline-limits#memory-restrictions.
const StageBytesMax = 100 << 20

// RecordsBytesMax limits the bytes of all record sets of one command: the sets of those records that a plan has
// already returned, several million of them. These sets cannot spill, so they have their own limit, and a sort of
// the same command keeps its memory.
const RecordsBytesMax = 256 << 20

// stepBytes is the number of bytes by which a command takes from the memory that all commands share. It takes nothing
// until it holds uncountedBytes more than it has taken, so that small commands neither contend for the shared counter
// nor are refused by it.
const (
	uncountedBytes = 64 << 10
	stepBytes      = 256 << 10
)

// Memory is the memory limit, in bytes, that the goroutines of one blocking operator or command share. Its bytes
// also count in the memory limit of all commands of the server. Safe for concurrent use.
type Memory struct {
	max  int64
	used atomic.Int64
	// Spill permits operators to write to SpillDir when the memory limit is reached (allowDiskUse); otherwise they
	// fail.
	Spill bool
	// SpillDir is the directory of temporary files; empty forbids them.
	SpillDir string
	// RecordsMax is the limit of GrowRecords.
	RecordsMax int64
	records    atomic.Int64
	values     atomic.Int64 // see GrowValues
	peak       atomic.Int64
	spills     Spills
	// AllSpills counts the spills of all commands; nil counts nothing.
	AllSpills *Spills

	shared          *ratelimit.Memory // limit of all commands; nil means no limit
	mu              sync.Mutex
	sharedTaken     atomic.Int64 // bytes taken from shared; changed under mu
	sharedExhausted atomic.Bool  // shared had no room at the last request
}

// NewMemory makes a budget of max bytes.
func NewMemory(max int64) *Memory { return &Memory{max: max, RecordsMax: RecordsBytesMax} }

// Sibling returns a new limit of max bytes for another part of the command, under the same limit of all commands.
// The caller must Release it.
func (m *Memory) Sibling(max int64) *Memory {
	return &Memory{max: max, RecordsMax: RecordsBytesMax, shared: m.shared, AllSpills: m.AllSpills}
}

// Reset makes m a fresh limit of max bytes that may not spill. Its bytes also count in shared, the limit of all
// commands, if that is not nil.
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

// Release gives all bytes that the command has taken back to the memory shared by all commands. It is called when
// the command has ended.
func (m *Memory) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shared.Give(m.sharedTaken.Swap(0))
	m.sharedExhausted.Store(false)
}

// Max returns the size of the budget in bytes.
func (m *Memory) Max() int64 { return m.max }

// Used returns the number of bytes that the command holds now: those of operators, record sets and values.
func (m *Memory) Used() int64 { return m.used.Load() + m.records.Load() + m.values.Load() }

// Peak returns the largest number of bytes that were in use at any time since Reset.
func (m *Memory) Peak() int64 { return m.peak.Load() }

// updatePeak raises the peak to the bytes counted now.
func (m *Memory) updatePeak() {
	used := m.Used()
	for {
		peak := m.peak.Load()
		if used <= peak || m.peak.CompareAndSwap(peak, used) {
			return
		}
	}
}

// Grow counts n more bytes that an operator holds, and reports whether both this limit and that of all commands
// still hold. A caller that gets false spills (if Spill) or returns ExceededError. In any case it calls Shrink when
// it frees the memory.
func (m *Memory) Grow(n int) bool {
	fits := m.used.Add(int64(n)) <= m.max
	m.updatePeak()
	return m.takeShared() && fits
}

// Shrink returns n bytes.
func (m *Memory) Shrink(n int) {
	m.used.Add(-int64(n))
	m.returnShared()
}

// GrowRecords counts n more bytes of record sets (see RecordsBytesMax), fewer for a negative n, and reports whether
// both RecordsMax and the limit of all commands still hold; for a negative n whether RecordsMax holds.
func (m *Memory) GrowRecords(n int) bool {
	fits := m.records.Add(int64(n)) <= m.RecordsMax
	if n < 0 {
		m.returnShared()
		return fits
	}
	m.updatePeak()
	return m.takeShared() && fits
}

// GrowRequired counts n more bytes of something that is necessary and cannot spill. Shrink returns them. The caller
// enforces its own limit; the limit max of m is not checked. what names the thing in the error. Errors:
// ExceededMemoryLimit (146) if all commands together hold too much.
func (m *Memory) GrowRequired(n int, what string) error {
	m.used.Add(int64(n))
	if m.updatePeak(); m.takeShared() {
		return nil
	}
	return m.shortageError(what)
}

// GrowValues counts n more bytes of values that expressions make, before they are made; ShrinkValues returns them.
// These bytes do not count in the limit of the operators, so that a sort keeps its memory, but they count in the
// limit of all commands. Errors: ExceededMemoryLimit (146) if all commands together would hold too much; nothing is
// counted then.
func (m *Memory) GrowValues(n int, what string) error {
	m.values.Add(int64(n))
	if !m.reserveShared() {
		m.values.Add(-int64(n))
		return m.shortageError(what)
	}
	m.updatePeak()
	return nil
}

// ShrinkValues returns n bytes of values.
func (m *Memory) ShrinkValues(n int) {
	m.values.Add(-int64(n))
	m.returnShared()
}

// reserveShared takes bytes from the shared memory before they are allocated, and reports whether there was room.
// Without room it takes nothing, unlike takeShared.
func (m *Memory) reserveShared() bool {
	if m.shared == nil || m.Used() <= m.sharedTaken.Load()+uncountedBytes {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	missing := m.Used() - m.sharedTaken.Load()
	if missing <= uncountedBytes {
		return true
	}
	for _, step := range [2]int64{max(missing, stepBytes), missing} {
		if m.shared.Take(step) {
			m.sharedTaken.Add(step)
			return true
		}
	}
	return false
}

// shortageError returns the error for work, named what, that needs more memory than the server has left.
func (m *Memory) shortageError(what string) error {
	return mongoerr.New(mongoerr.ExceededMemoryLimit,
		"%s needs more memory than the server has left: the commands that run now may use %d bytes together, those of one user two thirds of what others leave; "+
			"try again later, run fewer at once, or raise --work-memory",
		what, m.shared.Max())
}

// takeShared takes from the memory that all commands share the bytes that this command has allocated since it last
// took some, and reports whether there was room. Without room, the bytes count there all the same, as they are in
// use. If it takes nothing, it returns the last result.
func (m *Memory) takeShared() bool {
	if m.shared == nil || m.Used() <= m.sharedTaken.Load()+uncountedBytes {
		return !m.sharedExhausted.Load()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	missing := m.Used() - m.sharedTaken.Load()
	if missing <= uncountedBytes {
		return !m.sharedExhausted.Load()
	}
	step := max(missing, stepBytes)
	ok := m.shared.Take(step)
	if !ok {
		step = missing
		m.shared.Force(step)
	}
	m.sharedTaken.Add(step)
	m.sharedExhausted.Store(!ok)
	return ok
}

// returnShared returns shared bytes that are not needed any more.
func (m *Memory) returnShared() {
	if taken := m.sharedTaken.Load(); taken == 0 || taken-m.Used() < 2*stepBytes && m.Used() > 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if spare := m.sharedTaken.Load() - m.Used(); spare > 0 {
		m.sharedTaken.Add(-spare)
		m.shared.Give(spare)
		m.sharedExhausted.Store(false)
	}
}

// CanSpill reports whether temporary files are allowed.
func (m *Memory) CanSpill() bool { return m.Spill && m.SpillDir != "" }

// MustSpill reports whether an operator that was refused memory, and itself holds held bytes, must spill (or fail)
// now: if it may not spill, or if it holds a fair part of the limit. An operator that holds little continues
// instead: others use up the memory, and spilled runs of a few rows each would cost more than they free.
func (m *Memory) MustSpill(held int) bool { return !m.CanSpill() || int64(held) >= m.spillThreshold() }

// spillThreshold returns the number of bytes from which on an operator spills: an eighth of the command's limit,
// less (at most 1 MiB) if the limit of all commands is exceeded.
func (m *Memory) spillThreshold() int64 {
	own := m.max / 8
	if m.sharedExhausted.Load() {
		return min(own, max(64<<10, min(m.shared.Max()/256, 1<<20)))
	}
	return own
}

// ExceededError returns the error of an operator that may not spill.
func (m *Memory) ExceededError(what string) error {
	if m.sharedExhausted.Load() && m.used.Load() <= m.max {
		return mongoerr.New(292, "Exceeded memory limit for %s, but didn't allow external spilling; pass allowDiskUse:true to opt in, or try again later: "+
			"the commands that run now use up the %d bytes that they may together, or those of this user their part (--work-memory)", what, m.shared.Max())
	}
	return mongoerr.New(292, "Exceeded memory limit for %s, but didn't allow external spilling; pass allowDiskUse:true to opt in", what)
}
