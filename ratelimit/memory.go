package ratelimit

import "sync/atomic"

// Memory is a memory limit for the bytes that all commands of a server hold together. Take never waits for memory: a
// waiting command would itself hold memory for which another one waits. If Take fails, the caller uses less (it
// spills, or sends a shorter reply) or fails. A nil *Memory has no limit. Safe for concurrent use.
type Memory struct {
	of         *Memory // the memory of which this one is a part
	max        int64
	shared     bool // with other users: see UserShares
	used, peak atomic.Int64
	refused    atomic.Int64
}

// MemoryStats are the present numbers, in bytes except Refused.
type MemoryStats struct {
	Max, Used, Peak int64
	Refused         int64 // how often Take failed
}

// NewMemory creates a memory limit of max bytes.
func NewMemory(max int64) *Memory { return &Memory{max: max} }

// Part returns a memory limit of at most max bytes, which are also counted in m. With it, one kind of use cannot
// take all of m.
func (m *Memory) Part(max int64) *Memory { return &Memory{of: m, max: max} }

// Max returns the limit in bytes; 0 = no limit.
func (m *Memory) Max() int64 {
	if m == nil {
		return 0
	}
	return m.max
}

// Take takes n bytes if so many are free, and reports whether it did. If so, the caller releases them with Give.
func (m *Memory) Take(n int64) bool {
	if m == nil {
		return true
	}
	if used := m.used.Add(n); used > m.max || m.shared && used > ShareFactor*(m.of.Free()-n) {
		m.used.Add(-n)
		m.refused.Add(1)
		if m.shared {
			m.of.refused.Add(1) // shown there
		}
		return false
	}
	if !m.of.Take(n) {
		m.used.Add(-n)
		m.refused.Add(1)
		return false
	}
	m.note()
	return true
}

// Force takes n bytes that the caller holds already, even above the limit, so that later Takes are refused. The
// caller releases them with Give.
func (m *Memory) Force(n int64) {
	if m != nil {
		m.used.Add(n)
		m.of.Force(n)
		m.note()
	}
}

// Give returns n bytes.
func (m *Memory) Give(n int64) {
	if m != nil {
		m.used.Add(-n)
		m.of.Give(n)
	}
}

// Free returns the number of free bytes, never negative.
func (m *Memory) Free() int64 {
	if m == nil {
		return 1 << 62
	}
	free := min(m.max-m.used.Load(), m.of.Free())
	if m.shared {
		free = min(free, (ShareFactor*m.of.Free()-m.used.Load())/(ShareFactor+1))
	}
	return max(0, free)
}

// Stats returns the present numbers.
func (m *Memory) Stats() MemoryStats {
	if m == nil {
		return MemoryStats{}
	}
	return MemoryStats{Max: m.max, Used: m.used.Load(), Peak: m.peak.Load(), Refused: m.refused.Load()}
}

// note updates the peak.
func (m *Memory) note() {
	for now := m.used.Load(); ; {
		was := m.peak.Load()
		if now <= was || m.peak.CompareAndSwap(was, now) {
			return
		}
	}
}
