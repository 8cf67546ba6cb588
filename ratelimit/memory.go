package ratelimit

import "sync/atomic"

// Memory is a number of bytes that many share: what the commands of a server hold
// together. Nobody waits for memory, since those who wait may hold what others wait
// for: who gets none makes do with what it has (writes to disk, sends a shorter
// reply) or gives up. A nil *Memory has no end. Safe for concurrent use.
type Memory struct {
	of         *Memory // what this one is a part of
	max        int64
	shared     bool // with other users: see UserShares
	used, peak atomic.Int64
	refused    atomic.Int64
}

// MemoryStats are the numbers of a moment, in bytes but for Refused.
type MemoryStats struct {
	Max, Used, Peak int64
	Refused         int64 // how often there was no room
}

// NewMemory makes room for max bytes.
func NewMemory(max int64) *Memory { return &Memory{max: max} }

// Part makes a memory of at most max bytes whose bytes count in m as well, so that one
// kind of holders cannot take all of it from the others.
func (m *Memory) Part(max int64) *Memory { return &Memory{of: m, max: max} }

// Max is how many bytes there are; 0 without end.
func (m *Memory) Max() int64 {
	if m == nil {
		return 0
	}
	return m.max
}

// Take counts n bytes if there is room for them. Give must follow.
func (m *Memory) Take(n int64) bool {
	if m == nil {
		return true
	}
	if used := m.used.Add(n); used > m.max || m.shared && used > ShareFactor*(m.of.Free()-n) {
		m.used.Add(-n)
		m.refused.Add(1)
		if m.shared {
			m.of.refused.Add(1) // where it is shown
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

// Force counts n bytes that are held already, room or not. Give must follow.
func (m *Memory) Force(n int64) {
	if m != nil {
		m.used.Add(n)
		m.of.Force(n)
		m.note()
	}
}

// Give gives n bytes back.
func (m *Memory) Give(n int64) {
	if m != nil {
		m.used.Add(-n)
		m.of.Give(n)
	}
}

// Free is how many bytes there is room for: never negative.
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

// Stats returns the numbers of this moment.
func (m *Memory) Stats() MemoryStats {
	if m == nil {
		return MemoryStats{}
	}
	return MemoryStats{Max: m.max, Used: m.used.Load(), Peak: m.peak.Load(), Refused: m.refused.Load()}
}

// note remembers the most that was used.
func (m *Memory) note() {
	for now := m.used.Load(); ; {
		was := m.peak.Load()
		if now <= was || m.peak.CompareAndSwap(was, now) {
			return
		}
	}
}
