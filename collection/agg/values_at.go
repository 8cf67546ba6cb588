package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// localValues calls add with the values at a path of a document that $lookup or $graphLookup joins by. It looks
// into arrays on the path and at its end, also into an array that the path selects by position. It omits
// missing values.
func localValues(doc bson.Raw, p path.Path, add func(v bson.Value)) {
	p.Walk(doc, path.Traverse, func(v bson.Value, _ []int32) bool {
		if a, ok := v.Array(); ok {
			for it := a.Iter(); it.Next(); {
				add(it.Value)
			}
		} else if !v.IsMissing() {
			add(v)
		}
		return true
	})
}

// foreignSide computes the values by which an equality filter on a path would find a foreign document of a
// $lookup. Null is tested by a filter of its own, because it depends on more than the values at the path.
type foreignSide struct {
	path path.Path
	null match.Node // {path: {$eq: null}}; nil if null is not needed
}

func newForeignSide(env *mql.Env, p path.Path, null bool) (f foreignSide, err error) {
	f.path = p
	if null {
		f.null, err = equality(env, p, []bson.Value{bson.Null})
	}
	return f, err
}

// values calls add with the values of the foreign document doc at the path, and with null if null finds the
// document.
func (f *foreignSide) values(env *mql.Env, doc bson.Raw, s *expr.Scratch, add func(v bson.Value)) error {
	f.path.Walk(doc, path.TraverseLeaf, func(v bson.Value, _ []int32) bool {
		if !v.IsNullish() {
			add(v)
		}
		return true
	})
	if f.null == nil {
		return nil
	}
	ok, err := f.null.Matches(env, doc, s)
	if ok {
		add(bson.Null)
	}
	return err
}

// valueSet is a set of values in insertion order. Values that are equal under the command's collation are one.
type valueSet struct {
	at     map[string]int // from key to position
	values []bson.Value
	arena  bson.Arena
	key    []byte
}

// keyOf returns the bytes by which the set compares a value. They are valid until the next call.
func (s *valueSet) keyOf(env *mql.Env, v bson.Value) []byte {
	s.key = keystring.Append(s.key[:0], v, keystring.Ascending, env.Order(), nil)
	return s.key
}

// add copies v into the set and returns its position.
func (s *valueSet) add(env *mql.Env, v bson.Value) (at int, fresh bool) {
	k := s.keyOf(env, v)
	if at, ok := s.at[string(k)]; ok {
		return at, false
	}
	if s.at == nil {
		s.at = map[string]int{}
	}
	at = len(s.values)
	s.at[string(k)] = at
	s.values = append(s.values, s.arena.Keep(v))
	return at, true
}

// find returns the position of v.
func (s *valueSet) find(env *mql.Env, v bson.Value) (at int, ok bool) {
	at, ok = s.at[string(s.keyOf(env, v))]
	return at, ok
}

func (s *valueSet) reset() {
	clear(s.at)
	s.values = s.values[:0]
	s.arena.Reset()
}

// equality returns the filter for documents that have one of the values at a path.
// Errors: errors of match.Parse.
func equality(env *mql.Env, at path.Path, values []bson.Value) (match.Node, error) {
	b := bson.NewBuilder(nil)
	equalsAny(b, at.String(), values)
	return match.Parse(env, b.Doc())
}

// equalsAny appends to the open document b a filter for documents that have one of the values at the path name.
// Regular expressions are compared as values, not matched.
func equalsAny(b *bson.Builder, name string, values []bson.Value) {
	patterns := 0
	for _, v := range values {
		if v.Type == bson.TypeRegex {
			patterns++
		}
	}
	in := func() {
		b.BeginDoc(name)
		if len(values)-patterns == 1 {
			for _, v := range values {
				if v.Type != bson.TypeRegex {
					b.Value("$eq", v)
				}
			}
		} else {
			b.BeginArray("$in")
			for _, v := range values {
				if v.Type != bson.TypeRegex {
					b.Value("", v)
				}
			}
			b.End()
		}
		b.End()
	}
	if patterns == 0 {
		in()
		return
	}
	b.BeginArray("$or")
	b.BeginDoc("")
	in()
	b.End()
	for _, v := range values {
		if v.Type == bson.TypeRegex {
			b.BeginDoc("")
			b.BeginDoc(name)
			b.Value("$eq", v)
			b.End()
			b.End()
		}
	}
	b.End()
}
