package ratelimit

import "sync"

// UserShares divides one memory limit among the users of a server, so that one user cannot take all memory. A user
// may hold at most ShareFactor times the free memory: a single user two thirds of all memory, a second one two
// thirds of the rest. As memory is released, all users converge on equal shares. A nil *UserShares returns a part
// without a limit. Safe for concurrent use.
type UserShares struct {
	memory    *Memory
	mu        sync.Mutex
	connected map[string]*userShare
	// disconnected holds users without connections that still hold memory, for example in a running
	// transaction.
	disconnected map[string]*userShare
}

// ShareFactor is the multiple of the free memory that one user may hold: with 2, a single user holds at most two
// thirds of the memory.
const ShareFactor = 2

// ShareMax returns the most bytes of m that one user can hold while no other user holds any.
func ShareMax(m *Memory) int64 { return m.Max() / (ShareFactor + 1) * ShareFactor }

// userShare holds the memory limit of one user, and the number of the user's connections.
type userShare struct {
	part  *Memory
	conns int
}

// NewUserShares divides m.
func NewUserShares(m *Memory) *UserShares {
	return &UserShares{memory: m, connected: map[string]*userShare{}, disconnected: map[string]*userShare{}}
}

// Enter counts one more connection of a user, and returns the user's memory limit. When the connection closes, the
// caller calls Leave.
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
