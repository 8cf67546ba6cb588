package ratelimit

import "sync"

// UserShares divides one memory limit among users. A user may hold at most ShareFactor times
// the free memory. One user alone can take two thirds, a second one two thirds of the rest;
// as memory is released, all converge on equal shares. A nil *UserShares has one part without
// a limit. Safe for concurrent use.
type UserShares struct {
	memory    *Memory
	mu        sync.Mutex
	connected map[string]*userShare
	// disconnected holds users without connections that still hold memory, for example in a running
	// transaction.
	disconnected map[string]*userShare
}

// ShareFactor is the multiple of the free memory that one user may hold.
const ShareFactor = 2

// ShareMax returns the most that a user gets of m, if there are no other users.
func ShareMax(m *Memory) int64 { return m.Max() / (ShareFactor + 1) * ShareFactor }

// userShare holds a user's part, and the number of the user's connections.
type userShare struct {
	part  *Memory
	conns int
}

// NewUserShares divides m.
func NewUserShares(m *Memory) *UserShares {
	return &UserShares{memory: m, connected: map[string]*userShare{}, disconnected: map[string]*userShare{}}
}

// Enter counts one more connection of a user, and returns the user's part. The caller calls
// Leave.
func (s *UserShares) Enter(user string) *Memory {
	if s == nil || s.memory == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, u := range s.disconnected {
		if u.part.used.Load() == 0 {
			delete(s.disconnected, name)
		}
	}
	u := s.connected[user]
	if u == nil {
		u = s.disconnected[user]
		delete(s.disconnected, user)
	}
	if u == nil {
		u = &userShare{part: &Memory{of: s.memory, max: s.memory.max, shared: true}}
	}
	s.connected[user] = u
	u.conns++
	return u.part
}

// Leave counts one connection of a user less.
func (s *UserShares) Leave(user string) {
	if s == nil || s.memory == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.connected[user]; u != nil {
		if u.conns--; u.conns <= 0 {
			delete(s.connected, user)
			if u.part.used.Load() > 0 {
				s.disconnected[user] = u
			}
		}
	}
}
