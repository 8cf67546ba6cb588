package exec

import (
	"hash/maphash"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// recordSet is a set of records by position and _id, with which operators drop duplicates. It holds 16 bytes of
// hash for each record. Each set has its own random seeds, so that a client cannot make records that collide.
// Its memory counts in the command's memory (mql.Memory.GrowRecords) until release. The zero recordSet is
// empty.
type recordSet struct {
	m      map[[2]uint64]struct{}
	seeds  [2]maphash.Seed
	key    []byte
	memory *mql.Memory
	held   int
}

// recordBytes is the approximate size of a record in a map.
const recordBytes = 40

// add adds the record of a row and reports whether it is new to the set.
// Errors: QueryExceededMemoryLimitNoDiskUseAllowed (292).
func (s *recordSet) add(env *mql.Env, r *Row) (bool, error) {
	if s.m == nil {
		s.m = map[[2]uint64]struct{}{}
		s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
		s.memory = env.Memory
	}
	k := s.hash(r)
	if _, ok := s.m[k]; ok {
		return false, nil
	}
	if s.memory != nil {
		s.held += recordBytes
		if !s.memory.GrowRecords(recordBytes) {
			return false, mongoerr.New(292, "Exceeded memory limit of %d bytes for telling records apart that an index holds more than once; "+
				"make the filter more selective, or scan the collection with hint: {$natural: 1}", s.memory.RecordsMax)
		}
	}
	s.m[k] = struct{}{}
	return true, nil
}

// release empties the set and returns its memory.
func (s *recordSet) release() {
	if s.held > 0 {
		s.memory.GrowRecords(-s.held)
	}
	*s = recordSet{}
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
