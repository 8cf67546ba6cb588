package exec

import "hash/maphash"

// recordSet remembers records by position and _id: 16 bytes of hash for each,
// under seeds of its own, so that nobody can make records that look alike. The
// zero recordSet is empty.
type recordSet struct {
	m     map[[2]uint64]struct{}
	seeds [2]maphash.Seed
	key   []byte
}

// add reports whether the record is new.
func (s *recordSet) add(r *Row) bool {
	if s.m == nil {
		s.m = map[[2]uint64]struct{}{}
		s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	}
	k := s.hash(r)
	if _, ok := s.m[k]; ok {
		return false
	}
	s.m[k] = struct{}{}
	return true
}

// has reports whether the record was added.
func (s *recordSet) has(r *Row) bool {
	if s.m == nil {
		return false
	}
	_, ok := s.m[s.hash(r)]
	return ok
}

func (s *recordSet) hash(r *Row) [2]uint64 {
	s.key = append(r.Hash.Append(s.key[:0]), r.ID...)
	return [2]uint64{maphash.Bytes(s.seeds[0], s.key), maphash.Bytes(s.seeds[1], s.key)}
}
