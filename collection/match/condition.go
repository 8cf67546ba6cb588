package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// Condition is a filter on single values instead of documents: what $pull asks
// of the elements of an array. An array is one value and is not looked into.
// Immutable, safe for concurrent use.
type Condition struct {
	ops   []valued // operators and patterns on the value itself
	doc   Node     // a filter on a value that is a document
	equal bson.Value
	order bson.StringOrder
}

// ParseCondition reads {$gt: 5} (operators on the value), {a: 1} (a filter on
// values that are documents), a regular expression, or any other value, which
// the value must equal. It keeps no reference to v's bytes.
//
// Errors: as Parse.
func ParseCondition(env *mql.Env, v bson.Value) (*Condition, error) {
	v = v.Clone()
	p := parser{env: env, operators: Operators, order: env.Order(), nested: true}
	c := &Condition{order: p.order}
	var list []Node
	var err error
	switch d, isDoc := v.Doc(); {
	case isDoc && p.isValueForm(d):
		list, err = p.ops(nil, path.Path{}, d)
	case isDoc:
		c.doc, err = p.filter(d)
		return c, err
	case v.Type == bson.TypeRegex:
		list, err = p.field(nil, path.Path{}, v)
	default:
		c.equal = v
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	for _, n := range list {
		op, ok := n.(valued)
		if !ok {
			return nil, badValue("%s cannot be applied to single values", v)
		}
		c.ops = append(c.ops, op)
	}
	return c, nil
}

// Holds reports whether v satisfies the condition. Errors: as Node.Matches.
func (c *Condition) Holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	switch {
	case c.doc != nil:
		if v.Type != bson.TypeDocument {
			return false, nil
		}
		return c.doc.Matches(env, bson.Raw(v.Data), s)
	case c.equal.Type != bson.TypeMissing:
		return bson.Equal(v, c.equal, c.order), nil
	}
	for _, op := range c.ops {
		if ok, err := op.holds(env, v, s); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
