package match

import (
	"encoding/binary"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// Condition is a filter on single values instead of documents: the condition of $pull on the elements of an array.
// Immutable, safe for concurrent use.
type Condition struct {
	wrapped Node // operators and patterns, on the document {"": value}
	doc     Node // a filter on a value that is a document
	equal   bson.Value
	order   bson.StringOrder
}

// ParseCondition reads a condition on one value: {$gt: 5} (operators on the value and, if it is an array, on its
// elements), {a: 1} (a filter on values that are documents), a regular expression, or any other constant, which the
// value must equal. The Condition keeps no reference to the bytes of v. Manual: reference/operator/update/pull.
//
// Errors: the errors of Parse.
func ParseCondition(env *mql.Env, v bson.Value) (*Condition, error) {
	p := newParser(env)
	p.nested = true
	return p.condition(v)
}

// condition implements ParseCondition with the parser p.
func (p *parser) condition(v bson.Value) (*Condition, error) {
	v = v.Clone()
	c := &Condition{order: p.rules.order}
	d, isDoc := v.Doc()
	switch {
	case isDoc && p.isValueForm(d), v.Type == bson.TypeRegex:
		list, err := p.field(nil, path.Must(""), v)
		if err != nil {
			return nil, err
		}
		c.wrapped = conjunction(list)
	case isDoc:
		n, err := p.filter(d)
		if err != nil {
			return nil, err
		}
		c.doc = n
	default:
		c.equal = v
	}
	return c, nil
}

// Holds reports whether v satisfies the condition. Errors: as Node.Matches.
func (c *Condition) Holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	switch {
	case c.wrapped != nil:
		w := s.Alloc(len(v.Data) + 7)
		binary.LittleEndian.PutUint32(w, uint32(len(w)))
		w[4], w[5], w[len(w)-1] = byte(v.Type), 0, 0
		copy(w[6:], v.Data)
		return c.wrapped.Matches(env, bson.Raw(w), s)
	case c.doc != nil:
		if v.Type != bson.TypeDocument {
			return false, nil
		}
		return c.doc.Matches(env, bson.Raw(v.Data), s)
	}
	return bson.Equal(v, c.equal, c.order), nil
}
