package bson

// Repeated returns the first name that occurs a second time.
func (r Raw) Repeated() (name []byte, ok bool) {
	var seen Names
	for it := r.Iter(); it.Next(); {
		if seen.Add(it.Name) {
			return it.Name, true
		}
	}
	return nil, false
}

// Names is a set of names that finds repeated ones, for documents of named arguments, nearly all of which have few.
// It aliases the names.
type Names struct {
	few   [16][]byte
	n     int
	kinds uint64 // kinds of the names so far (see NameKind): most new names have a kind that is not in the set
	many  map[string]struct{}
}

// Add adds a name to the set and reports whether it was there already: whether the name is repeated.
func (s *Names) Add(name []byte) (twice bool) {
	kind := NameKind(name)
	if s.kinds&kind != 0 {
		for _, other := range s.few[:min(s.n, len(s.few))] {
			if string(other) == string(name) {
				return true
			}
		}
		if _, twice = s.many[string(name)]; twice {
			return true
		}
	}
	s.kinds |= kind
	if s.n < len(s.few) {
		s.few[s.n] = name
	} else {
		if s.many == nil {
			s.many = map[string]struct{}{}
		}
		s.many[string(name)] = struct{}{}
	}
	s.n++
	return false
}

// NameKind returns one of 64 bits, by the length and the ends of a name. A set of names without this bit does not
// contain the name. Two names in the same command usually have different bits.
func NameKind(name []byte) uint64 {
	if len(name) == 0 {
		return 1
	}
	return 1 << ((len(name) + int(name[0]) + 25*int(name[len(name)-1])) & 63)
}
