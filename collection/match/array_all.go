package match

import (
	"github.com/cantledb/cantle/bson"
)

var opAll = Operator{Name: "$all", Where: Field, Parse: parseAll, Doc: "reference/operator/query/all"}

// parseAll reads {$all: […]}: each of the values or patterns must be present, or each of the $elemMatch
// conditions must hold; an empty array matches nothing. {$all: [[1, 2]]}, as in MongoDB, also matches the array [1,
// 2] itself.
func parseAll(p *parser, a operand) (Node, error) {
	arr, ok := a.value.Array()
	if !ok {
		return nil, badValue("$all needs an array")
	}
	if arr.IsEmpty() {
		return Always(false), nil
	}
	first, _ := arr.Index(0)
	if d, ok := first.Doc(); ok && firstName(d) == "$elemMatch" {
		return p.allElemMatch(a, arr)
	}
	var list []Node
	for v := range arr.Values() {
		var n Node
		var err error
		d, isDoc := v.Doc()
		switch name := firstName(d); {
		case isDoc && name == "$elemMatch":
			return nil, badValue("$all/$elemMatch has to be consistent")
		case isDoc && p.find(name, Field) != nil: // other names with a dollar sign are compared
			return nil, badValue("no $ expressions in $all")
		case v.Type == bson.TypeRegex:
			n, err = p.regexLeaf(a.path, v)
		default:
			n, err = p.comparison(a.path, opEqual, v)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return conjunction(list), nil
}

func (p *parser) allElemMatch(a operand, arr bson.Raw) (Node, error) {
	var list []Node
	op := p.find("$elemMatch", Field)
	for v := range arr.Values() {
		d, ok := v.Doc()
		switch {
		case !ok:
			return nil, badValue("$all/$elemMatch has to be consistent")
		case firstName(d) != "$elemMatch" || d.Len() != 1:
			return nil, badValue("$all/$elemMatch has to be consistent")
		}
		n, err := p.operator(operand{op: op, path: a.path, value: d.Get("$elemMatch"), all: d})
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return conjunction(list), nil
}
