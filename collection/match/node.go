package match

import (
	"bytes"
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// Node is a parsed filter or a part of one. Immutable, safe for concurrent use.
// The concrete types are those of this package: And, Or, Nor, Not, Leaf,
// ElemMatch, Near, Expr, Text, Where, Schema, Always and Sample.
type Node interface {
	// Matches reports whether doc satisfies the node. It allocates nothing unless expressions, JavaScript, patterns,
	// JSON schemas, $text or geometries do. Values that it computes are in the memory of s. Errors: the errors of
	// evaluating $expr, $where, $text and patterns, and the reason why the command must end.
	Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error)
	// Children returns the sub-filters; the caller must not change the slice.
	Children() []Node
	// Append appends the fields of the node as canonical MQL, the form that
	// explain shows ({a: {$eq: 1}}), to an open document.
	Append(b *bson.Builder)

	// shape appends the node without its values; see Shape.
	shape(dst []byte) []byte
}

// Pathed is a filter node with a condition on the values of one path, from which the planner makes index bounds.
type Pathed interface {
	Node
	// Path returns the dotted path from the node's document.
	Path() path.Path
	// Bounds adds the intervals of index keys that contain a key of every match, in ascending order and
	// without overlap. exact reports that each key inside belongs to a match, so that the document need
	// not be checked again. Keys are the values of an ascending index on Path: elements of arrays,
	// undefined for an empty array, null for missing.
	Bounds(add func(Interval)) (exact bool)
}

// valued is a filter node that can also be evaluated on one value instead of a document. $not and the form of
// $elemMatch with operators, {$gt: 1}, can contain such nodes.
type valued interface {
	Node
	// holds reports whether v satisfies the node. v is missing if the document has no value at the path.
	holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error)
	// appendOps appends the operators in the form of {field: {…}}.
	appendOps(b *bson.Builder)
}

// String returns the filter as canonical MQL.
func String(n Node) bson.Raw {
	b := bson.NewBuilder(nil)
	n.Append(b)
	return b.Doc()
}

// Walk calls visit for n and every node below it, parents first.
func Walk(n Node, visit func(Node)) {
	visit(n)
	for _, c := range n.Children() {
		Walk(c, visit)
	}
}

// Shape returns the filter without its values, except those of $expr, $where and $jsonSchema. It is the key of the
// plan cache: the same plan can answer filters of one shape. The shape contains everything on which the possible
// plans depend: paths, operators, and the kind of each compared value (valueShape), as a collation concerns only some
// kinds.
func Shape(n Node) string { return string(n.shape(nil)) }

// Form returns the Shape of a filter without the kinds of the compared values (valueShape), with clauses in an order
// that does not depend on values. Index filters (planCacheSetFilter) apply by Form.
func Form(n Node) string {
	op := ""
	switch n.(type) {
	case *And:
		op = "and"
	case *Or:
		op = "or"
	case *Nor:
		op = "nor"
	case *Not:
		op = "not"
	default:
		return withoutKinds(n)
	}
	if op == "and" && len(n.Children()) == 0 {
		return Form(Always(true)) // {} of a find, and no $match in a pipeline
	}
	var parts []string
	for _, c := range n.Children() {
		parts = append(parts, Form(c))
	}
	slices.Sort(parts)
	return op + "(" + strings.Join(parts, ",") + ")"
}

// withoutKinds returns the shape of a node without the kinds of the compared values, the results of valueShape.
func withoutKinds(n Node) string {
	shape := n.shape(nil)
	out := shape[:0]
	for i := 0; i < len(shape); i++ {
		switch c := shape[i]; c {
		case '\\': // escape within a name
			out = append(out, c, shape[i+1])
			i++
		case ' ':
			// Behind a path comes an operator, behind an operator come kinds.
			kinds := bytes.TrimLeft(shape[i+1:], valueKinds+"^")
			if n := len(shape) - len(kinds) - i - 1; n > 0 && (len(kinds) == 0 || kinds[0] == ',' || kinds[0] == ')') {
				i += n
				continue
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// valueKinds are the results of valueShape.
const valueKinds = "nadsrkv"

// valueShape returns the kind of a value for Shape.
func valueShape(v bson.Value) byte {
	switch v.Type {
	case bson.TypeNull, bson.TypeUndefined, bson.TypeMissing:
		return 'n'
	case bson.TypeArray:
		return 'a'
	case bson.TypeDocument:
		return 'd'
	case bson.TypeString, bson.TypeSymbol:
		return 's'
	case bson.TypeRegex:
		return 'r'
	case bson.TypeMinKey, bson.TypeMaxKey:
		return 'k'
	}
	return 'v'
}

// appendName appends a path to a shape. It escapes the shape's own characters, so that different paths stay
// different.
func appendName(dst []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; c {
		case '(', ')', '[', ']', ',', '\\', ' ':
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendList appends the shapes of children in parentheses.
func appendList(dst []byte, op string, list []Node) []byte {
	dst = append(append(dst, op...), '(')
	for i, c := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.shape(dst)
	}
	return append(dst, ')')
}
