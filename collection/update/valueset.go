package update

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
)

// valueSet is a set of values, for $addToSet and $pullAll. It finds equal values by linear search while there are
// few, by their encoding if there are many, so that large sets do not take quadratic time.
type valueSet struct {
	order  bson.StringOrder
	values []bson.Value
	keys   map[string]struct{}
}

// setLinearMax is the largest number of values that are searched linearly.
const setLinearMax = 64

func (s *valueSet) key(buf *[]byte, v bson.Value) []byte {
	*buf = keystring.Append((*buf)[:0], v, keystring.Ascending, s.order, nil)
	return *buf
}

// has reports whether a value equal to v was added; buf is working memory. Safe for concurrent use after the last
// add.
func (s *valueSet) has(buf *[]byte, v bson.Value) bool {
	if s.keys != nil {
		_, ok := s.keys[string(s.key(buf, v))]
		return ok
	}
	for _, w := range s.values {
		if bson.Equal(v, w, s.order) {
			return true
		}
	}
	return false
}

// add adds a value to the set; it must stay valid while the set is used. buf is working memory.
func (s *valueSet) add(buf *[]byte, v bson.Value) {
	s.values = append(s.values, v)
	switch {
	case s.keys != nil:
		s.keys[string(s.key(buf, v))] = struct{}{}
	case len(s.values) > setLinearMax:
		s.keys = make(map[string]struct{}, 2*len(s.values))
		for _, w := range s.values {
			s.keys[string(s.key(buf, w))] = struct{}{}
		}
	}
}
