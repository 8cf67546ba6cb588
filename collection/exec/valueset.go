package exec

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// ValueSet holds the distinct values seen at a path of documents, for the command distinct.
type ValueSet struct {
	path path.Path
	seen map[string]struct{}
	key  []byte
	held int // bytes counted in the command's memory
}

// NewValueSet makes a set for the values of a dotted path.
// Errors: 31032 (zero byte in the path).
func NewValueSet(p string) (*ValueSet, error) {
	compiled, err := path.Compile(p)
	if err != nil {
		return nil, mongoerr.New(31032, "The distinct key must not contain a zero byte")
	}
	return &ValueSet{path: compiled, seen: map[string]struct{}{}}, nil
}

// Each calls add for every value at the set's path in doc that was not seen before; an array counts as its
// elements. The memory of the set and of the values counts in env.Memory until Release.
// Errors: ExceededMemoryLimit (146).
func (s *ValueSet) Each(env *mql.Env, doc bson.Raw, add func(bson.Value)) error {
	before := s.held
	s.path.Walk(doc, path.Traverse, func(v bson.Value, _ []int32) bool {
		if elements, ok := v.Array(); ok {
			for it := elements.Iter(); it.Next(); {
				s.note(env, it.Value, add)
			}
			return true
		}
		s.note(env, v, add)
		return true
	})
	if s.held == before {
		return nil
	}
	return env.Memory.GrowRequired(s.held-before, "distinct")
}

// Release returns the memory that the set has counted.
func (s *ValueSet) Release(env *mql.Env) {
	env.Memory.Shrink(s.held)
	s.held = 0
}

// valueBytes is the approximate memory that a value takes in the set in addition to its bytes.
const valueBytes = 48

func (s *ValueSet) note(env *mql.Env, v bson.Value, add func(bson.Value)) {
	if v.IsMissing() {
		return
	}
	s.key = keystring.Append(s.key[:0], v, keystring.Ascending, env.Order(), nil)
	if _, ok := s.seen[string(s.key)]; !ok {
		s.seen[string(s.key)] = struct{}{}
		s.held += len(s.key) + len(v.Data) + valueBytes
		add(v)
	}
}

// SortValues returns a sorted copy of an array.
func SortValues(env *mql.Env, array bson.Raw) bson.Raw {
	values := slices.Collect(array.Values())
	slices.SortStableFunc(values, func(a, b bson.Value) int { return bson.Compare(a, b, env.Order()) })
	b := bson.NewArrayBuilder(make([]byte, 0, len(array)))
	for _, v := range values {
		b.Value("", v)
	}
	return b.Doc()
}
