package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var opNot = Operator{Name: "$not", Where: Field, Parse: parseNot, Doc: "reference/operator/query/not"}

func parseNot(p *parser, a operand) (Node, error) {
	if a.value.Type == bson.TypeRegex {
		n, err := p.regexLeaf(a.path, a.value)
		if err != nil {
			return nil, err
		}
		return &Not{a.path, n}, nil
	}
	d, ok := a.value.Doc()
	switch {
	case !ok:
		return nil, badValue("$not needs a regex or a document")
	case d.IsEmpty():
		return nil, badValue("$not cannot be empty")
	}
	list, err := p.ops(nil, a.path, d)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if _, ok := c.(valued); !ok {
			return nil, badValue("$not cannot contain %s", firstName(d))
		}
	}
	return &Not{a.path, conjunction(list)}, nil
}

func firstName(d bson.Raw) string {
	f, _ := d.First()
	return string(f.Name)
}

// Not is the filter node that matches if its only child does not match. The child has conditions on one path.
type Not struct {
	path  path.Path
	child Node
}

// Matches implements Node.
func (n *Not) Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	ok, err := n.child.Matches(env, doc, s)
	return !ok && err == nil, err
}

func (n *Not) holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	ok, err := n.child.(valued).holds(env, v, s)
	return !ok && err == nil, err
}

// Children implements Node.
func (n *Not) Children() []Node { return []Node{n.child} }

// Path returns the path of the negated conditions.
func (n *Not) Path() path.Path { return n.path }

// Bounds adds all index keys except those that prove a match of the child. The bounds are not exact: a document with
// one of these keys may have, in the same array, another element that satisfies the child; see FlatBounds.
func (n *Not) Bounds(add func(Interval)) (exact bool) {
	for _, i := range complement(proofs(n.child)) {
		add(i)
	}
	return false
}

// prover is a predicate whose bounds may be inexact as a whole, but for which a key in some intervals proves that the
// document matches. $not excludes these intervals from its bounds.
type prover interface {
	// proofs adds the intervals whose keys prove a match, in ascending order. single reports that the path has only
	// one component.
	proofs(single bool, add func(Interval))
}

// proofs returns the intervals of an index on n's path whose keys all belong to documents that match n.
func proofs(n Node) (list []Interval) {
	l, ok := n.(*Leaf)
	if !ok || l.path.HasPosition() {
		return nil
	}
	add := func(i Interval) { list = append(list, i) }
	if p, ok := l.pred.(prover); ok {
		p.proofs(len(l.parts) == 1, add)
	} else if !l.pred.bounds(add) {
		return nil
	}
	return list
}

// Append implements Node. {field: {$not: {…}}} with one condition is printed as such, every other negation as $nor,
// as MongoDB does.
func (n *Not) Append(b *bson.Builder) {
	if _, ok := n.child.(*And); ok {
		appendClauses(b, "$nor", []Node{n.child})
		return
	}
	b.BeginDoc(n.path.String())
	n.appendOps(b)
	b.End()
}

func (n *Not) appendOps(b *bson.Builder) {
	b.BeginDoc("$not")
	n.child.(valued).appendOps(b)
	b.End()
}

func (n *Not) shape(dst []byte) []byte { return append(n.child.shape(append(dst, "not("...)), ')') }
