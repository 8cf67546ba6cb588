package match

import (
	"cmp"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// Normalize returns an equivalent filter in the form that planning and plan caching expect: nested $and
// and $or are flattened, an $and or $or of one child is replaced by the child, constants are folded, an
// $in of one value becomes $eq, equalities of an $or on one path become one $in, many inequalities of an $and on one path
// become one $nin, double negations are dropped, and children are sorted without duplicates.
func Normalize(n Node) Node {
	var z normalizer
	return z.node(n)
}

// NormalizeInterruptible is Normalize for the filter of a command, which may be so long that it must be
// interruptible.
// Errors: the reason why the command must end.
func NormalizeInterruptible(env *mql.Env, n Node) (Node, error) {
	z := normalizer{env: env}
	n = z.node(n)
	return n, z.err
}

// normalizer holds the state of one call of Normalize. After an error, its results are useless.
type normalizer struct {
	env *mql.Env // nil: it cannot be interrupted
	err error
}

// mayContinue counts the work of normalizing a number of bytes, before it is done, and reports whether the
// normalizer may continue: false if the command must end.
func (z *normalizer) mayContinue(bytes int) bool {
	if z.err == nil && z.env != nil {
		z.err = z.env.Spend(bytes)
	}
	return z.err == nil
}

func (z *normalizer) node(n Node) Node {
	if !z.mayContinue(nodeWork) {
		return n
	}
	switch n := n.(type) {
	case *And:
		return z.and(n)
	case *Or:
		return z.or(n)
	case *Nor:
		return z.nor(n)
	case *Not:
		return z.not(n)
	case *ElemMatch:
		return z.elemMatch(n)
	case *Leaf:
		return normalLeaf(n)
	}
	return n
}

// nodeWork is the cost of normalizing one node of a filter, without its values, in the bytes that Env.Spend counts.
const nodeWork = 256

func (z *normalizer) and(n *And) Node {
	var list []Node
	for _, c := range n.list {
		switch c := z.node(c).(type) {
		case Always:
			if !c {
				return Always(false)
			}
		case *And:
			list = append(list, c.list...)
		default:
			list = append(list, c)
		}
	}
	list = z.sorted(joinInequalities(list))
	if len(list) > 1 && slices.Equal(list, n.list) {
		return n
	}
	return conjunction(list)
}

func (z *normalizer) or(n *Or) Node {
	var list []Node
	for _, c := range n.list {
		switch c := z.node(c).(type) {
		case Always:
			if c {
				return newAnd(nil)
			}
		case *Or:
			list = append(list, c.list...)
		case *And:
			if len(c.list) == 0 {
				return c
			}
			list = append(list, c)
		default:
			list = append(list, c)
		}
	}
	list = z.sorted(joinEqualities(list))
	switch len(list) {
	case 0:
		return Always(false)
	case 1:
		return list[0]
	}
	return &Or{list}
}

// equalTo returns the values for which a leaf with $eq or $in tests equality, and the rules of the comparison; ok is
// false for other leaves and for regular expressions.
func equalTo(l *Leaf) (values []bson.Value, r rules, ok bool) {
	switch p := l.pred.(type) {
	case *comparison:
		if p.rel == opEqual && p.with.Type != bson.TypeRegex {
			return []bson.Value{p.with}, p.rules, true
		}
	case *in:
		if len(p.regexes) == 0 {
			return p.values, p.rules, true
		}
	}
	return nil, rules{}, false
}

func (z *normalizer) nor(n *Nor) Node {
	var list []Node
	for _, c := range n.list {
		switch c := z.node(c).(type) {
		case Always:
			if c {
				return Always(false)
			}
		case *And:
			if len(c.list) == 0 {
				return Always(false)
			}
			list = append(list, c)
		case *Or:
			list = append(list, c.list...)
		default:
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return newAnd(nil)
	}
	return &Nor{z.sorted(list)}
}

func (z *normalizer) not(n *Not) Node {
	switch c := z.node(n.child).(type) {
	case Always:
		if c {
			return Always(false)
		}
		return newAnd(nil)
	case *Not:
		return c.child
	case valued:
		return &Not{n.path, c}
	}
	return n
}

func (z *normalizer) elemMatch(n *ElemMatch) Node {
	sub := z.node(n.sub)
	if sub == Always(false) {
		return sub
	}
	l := n.Leaf
	l.pred = &elemDoc{sub}
	return &ElemMatch{l, sub}
}

func normalLeaf(l *Leaf) Node {
	p, ok := l.pred.(*in)
	switch {
	case !ok:
	case len(p.values) == 0 && len(p.regexes) == 0:
		return Always(false)
	case len(p.values) == 1 && len(p.regexes) == 0:
		return newLeaf(l.path, newComparison(opEqual, p.values[0], p.rules))
	case len(p.values) == 0 && len(p.regexes) == 1:
		return newLeaf(l.path, p.regexes[0])
	}
	return l
}

// sorted sorts the children of a node by kind, path and text and removes duplicates except of $sampleRate, so that
// equal filters in a different order become the same. The order of kinds is that of MongoDB, because it is visible:
// if there are several conditions on arrays, the last one determines the positional operator.
func (z *normalizer) sorted(list []Node) []Node {
	if len(list) < 2 {
		return list
	}
	entries := make([]sortEntry, len(list))
	for i, c := range list {
		entries[i] = sortEntry{n: c, rank: rank(c)}
		if p, ok := c.(Pathed); ok {
			entries[i].path = p.Path().String()
		}
		if !z.mayContinue(nodeWork) {
			return list
		}
	}
	slices.SortStableFunc(entries, z.compare)
	out := make([]Node, 0, len(list))
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && entries[n].rank == entries[0].rank && entries[n].path == entries[0].path {
			n++
		}
		if n > 1 && !z.sortByText(entries[:n]) {
			return list
		}
		for i, e := range entries[:n] {
			if _, isSample := e.n.(Sample); i == 0 || isSample || e.text != entries[i-1].text {
				out = append(out, e.n)
			}
		}
		entries = entries[n:]
	}
	return out
}

// sortEntry is a child of a node to be sorted, with its sort keys. text is set only if another child has the same
// kind and path, as it is costly.
type sortEntry struct {
	n    Node
	rank int
	path string
	text string
}

// sortByText sorts children of the same kind and path by their text. It returns false if the command must end.
func (z *normalizer) sortByText(alike []sortEntry) bool {
	for i := range alike {
		e := &alike[i]
		e.text = string(e.n.shape(nil)) + "\x00" + string(String(e.n))
		if !z.mayContinue(len(e.text)) {
			return false
		}
	}
	slices.SortStableFunc(alike, z.compare)
	return true
}

// compare orders the children of a filter node by kind, path and text, for sorted. Once the command must end, all
// compare equal, so that the sort ends soon.
func (z *normalizer) compare(a, b sortEntry) int {
	if !z.mayContinue(0) {
		return 0
	}
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.path, b.path), cmp.Compare(a.text, b.text))
}

// kinds are the names of operators in the order into which normalizer.sorted sorts them.
var kinds = [...]string{
	"$and", "$or", "$elemMatch{}", "$elemMatch", "$size", "$eq", "$lte", "$lt", "$gt", "$gte", "$regex", "$mod",
	"$exists", "$in", "$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear", "$not", "$nor", "$type",
	"$geoWithin", "$geoIntersects", "$jsonSchema", "$where", "$expr", "$sampleRate", "$always", "$near", "$text",
}

func rank(n Node) int {
	name := "$sampleRate"
	switch n := n.(type) {
	case *And:
		name = "$and"
	case *Or:
		name = "$or"
	case *Nor:
		name = "$nor"
	case *Not:
		name = "$not"
	case *ElemMatch:
		name = "$elemMatch{}"
	case *Leaf:
		name = n.pred.name()
	case *Schema:
		name = "$jsonSchema"
	case *Expr:
		name = "$expr"
	case *Near:
		name = "$near"
	case *Text:
		name = "$text"
	case *Where:
		name = "$where"
	case Always:
		name = "$always"
	}
	return slices.Index(kinds[:], name)
}

// Same reports whether two filters from Normalize are equivalent.
func Same(a, b Node) bool { return same(a, b) }

// same reports whether two filters have the same text.
func same(a, b Node) bool {
	if _, ok := a.(Sample); ok {
		return false
	}
	return string(String(a)) == string(String(b)) && string(a.shape(nil)) == string(b.shape(nil))
}
