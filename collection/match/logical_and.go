package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var opAnd = Operator{Name: "$and", Where: Top, Parse: parseAnd, Doc: "reference/operator/query/and"}

func parseAnd(p *parser, a operand) (Node, error) {
	list, err := p.clauses(a)
	if err != nil {
		return nil, err
	}
	return newAnd(list), nil
}

// clauses reads the argument of $and, $or and $nor.
func (p *parser) clauses(a operand) ([]Node, error) {
	arr, ok := a.value.Array()
	switch {
	case !ok:
		return nil, badValue("%s must be an array", a.op.Name)
	case arr.IsEmpty():
		return nil, badValue("%s must be a nonempty array", a.op.Name)
	}
	var list []Node
	for v := range arr.Values() {
		d, ok := v.Doc()
		if !ok {
			return nil, badValue("%s entries need to be full objects", a.op.Name[1:])
		}
		n, err := p.filter(d)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// And is the filter node that matches if all its children match; without children it matches everything.
type And struct {
	list []Node
	// fields are the Leaf children on top-level fields, grouped by field, which Matches tests in one pass over the
	// document: two to topFieldsMax fields, or none. rest are the other children.
	fields []topField
	names  []string // of fields
	rest   []Node
}

// topField is a top-level field of an And with the conditions on it; most often there is only one, first.
type topField struct {
	name  string
	first *Leaf
	more  []*Leaf
}

// topFieldsMax is the largest number of fields that And.scan tests in one pass over a document; a bit of a uint64
// marks each field that was found.
const topFieldsMax = 64

func newAnd(list []Node) *And {
	n := &And{list: list}
	if !manyTops(list) {
		n.rest = list
		return n
	}
	n.fields = make([]topField, 0, min(len(list), topFieldsMax))
	for _, c := range list {
		if l, ok := topLeaf(c); !ok || !n.addTop(l) {
			n.rest = append(n.rest, c)
		}
	}
	n.names = make([]string, len(n.fields))
	for i := range n.fields {
		n.names[i] = n.fields[i].name
	}
	return n
}

// topLeaf returns c as a Leaf; ok is false if c is not a condition on a top-level field.
func topLeaf(c Node) (l *Leaf, ok bool) {
	l, ok = c.(*Leaf)
	return l, ok && len(l.parts) == 1
}

// manyTops reports whether there are conditions on at least two top-level fields, so that one pass over the document
// saves time.
func manyTops(list []Node) bool {
	var first *Leaf
	for _, c := range list {
		l, ok := topLeaf(c)
		switch {
		case !ok:
		case first == nil:
			first = l
		case l.parts[0].Name != first.parts[0].Name:
			return true
		}
	}
	return false
}

func (n *And) addTop(l *Leaf) bool {
	for i := range n.fields {
		if n.fields[i].name == l.parts[0].Name {
			n.fields[i].more = append(n.fields[i].more, l)
			return true
		}
	}
	if len(n.fields) == topFieldsMax {
		return false
	}
	n.fields = append(n.fields, topField{name: l.parts[0].Name, first: l})
	return true
}

// conjunction returns a node that matches if all nodes of list do: the node itself if there is only one, else an
// And.
func conjunction(list []Node) Node {
	if len(list) == 1 {
		return list[0]
	}
	return newAnd(list)
}

// Matches implements Node.
func (n *And) Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	if n.fields != nil {
		if ok, err := n.scan(env, doc, s); !ok || err != nil {
			return false, err
		}
	}
	for i, c := range n.rest {
		if err := tickClause(env, i); err != nil {
			return false, err
		}
		if ok, err := c.Matches(env, doc, s); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// clausesPerTick is the number of clauses of one filter after which their evaluation on a document calls Tick once:
// a filter may have very many clauses, and the command must stay interruptible.
const clausesPerTick = 128

// tickClause is called before the i-th clause is evaluated on a document, and calls Tick for every 128th. Errors:
// the errors of Tick.
func tickClause(env *mql.Env, i int) error {
	if i%clausesPerTick != clausesPerTick-1 {
		return nil
	}
	return env.Tick()
}

// scan reports whether doc satisfies the conditions on top-level fields. It reads the document once and tests each
// field when it reaches it.
func (n *And) scan(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	found := uint64(0)
	for left, at := len(n.fields), 4; left > 0; {
		i, v, next := doc.Scan(at, n.names)
		if i < 0 {
			break
		}
		at = next
		if found&(1<<i) != 0 {
			continue // a second field of that name
		}
		found |= 1 << i
		left--
		if ok, err := n.fields[i].holds(env, v, s); !ok || err != nil {
			return false, err
		}
	}
	for i := range n.fields {
		if found&(1<<i) == 0 {
			if ok, err := n.fields[i].holds(env, bson.Value{}, s); !ok || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

func (f *topField) holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	if ok, err := f.first.value(env, v, s); !ok || err != nil {
		return false, err
	}
	for i, l := range f.more {
		if err := tickClause(env, i); err != nil {
			return false, err
		}
		if ok, err := l.value(env, v, s); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (n *And) holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	for _, c := range n.list {
		if ok, err := c.(valued).holds(env, v, s); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Children implements Node.
func (n *And) Children() []Node { return n.list }

// Append implements Node.
func (n *And) Append(b *bson.Builder) { appendClauses(b, "$and", n.list) }

func (n *And) appendOps(b *bson.Builder) {
	for _, c := range n.list {
		c.(valued).appendOps(b)
	}
}

func (n *And) shape(dst []byte) []byte { return appendList(dst, "and", n.list) }

// appendClauses appends {$op: [child, …]}; nothing without children.
func appendClauses(b *bson.Builder, op string, list []Node) {
	if len(list) == 0 {
		return
	}
	b.BeginArray(op)
	for _, c := range list {
		b.BeginDoc("")
		c.Append(b)
		b.End()
	}
	b.End()
}
