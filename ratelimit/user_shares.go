package ratelimit

import "sync"

// UserShares are the parts of one memory that its users have. Who is alone may hold two
// thirds of it; each who comes finds room for two thirds of what is left, and all end up with
// the same: what a user holds is at most ShareFactor times what nobody holds. A nil
// *UserShares has one part without an end. Safe for concurrent use.
type UserShares struct {
	of *Memory
	mu sync.Mutex
	by map[string]*userShare
	// gone are those without connections that still hold something: a transaction of theirs
	// goes on.
	gone map[string]*userShare
}

// ShareFactor is how many times what is free one user may hold.
const ShareFactor = 2

// ShareMax is how much of m a user gets at most, who is alone.
func ShareMax(m *Memory) int64 { return m.Max() / (ShareFactor + 1) * ShareFactor }

// userShare is a part and how many connections the user has.
type userShare struct {
	part  *Memory
	conns int
}

// NewUserShares divides m.
func NewUserShares(m *Memory) *UserShares {
	return &UserShares{of: m, by: map[string]*userShare{}, gone: map[string]*userShare{}}
}

// Enter returns the part of a user for one more of its connections. Leave must follow.
func (s *UserShares) Enter(user string) *Memory {
	if s == nil || s.of == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, u := range s.gone {
		if u.part.used.Load() == 0 {
			delete(s.gone, name)
		}
	}
	u := s.by[user]
	if u == nil {
		u = s.gone[user]
		delete(s.gone, user)
	}
	if u == nil {
		u = &userShare{part: &Memory{of: s.of, max: s.of.max, shared: true}}
	}
	s.by[user] = u
	u.conns++
	return u.part
}

// Leave takes a connection of a user out of the count.
func (s *UserShares) Leave(user string) {
	if s == nil || s.of == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.by[user]; u != nil {
		if u.conns--; u.conns <= 0 {
			delete(s.by, user)
			if u.part.used.Load() > 0 {
				s.gone[user] = u
			}
		}
	}
}
