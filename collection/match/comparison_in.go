package match

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var (
	opIn  = Operator{Name: "$in", Where: Field, Parse: parseIn, Doc: "reference/operator/query/in"}
	opNin = Operator{Name: "$nin", Where: Field, Parse: parseNin, Doc: "reference/operator/query/nin"}
)

func parseIn(p *parser, a operand) (Node, error) { return p.in(a) }

func parseNin(p *parser, a operand) (Node, error) {
	n, err := p.in(a)
	if err != nil {
		return nil, err
	}
	return &Not{a.path, n}, nil
}

func (p *parser) in(a operand) (Node, error) {
	arr, ok := a.value.Array()
	if !ok {
		return nil, badValue("%s needs an array", a.op.Name)
	}
	in := &in{rules: p.rules, written: a.value}
	for v := range arr.Values() {
		if err := p.env.Spend(len(v.Data)); err != nil {
			return nil, err
		}
		switch v.Type {
		case bson.TypeDocument:
			if name := firstName(bson.Raw(v.Data)); len(name) > 0 && name[0] == '$' && !isDBRef(bson.Raw(v.Data), true) {
				return nil, badValue("cannot nest $ under %s", a.op.Name)
			}
		case bson.TypeUndefined:
			return nil, badValue("InMatchExpression equality cannot be undefined")
		case bson.TypeRegex:
			r, err := p.regexOf(v)
			if err != nil {
				return nil, err
			}
			in.regexes = append(in.regexes, r)
			continue
		}
		in.values = append(in.values, v)
	}
	in.sort()
	return newLeaf(a.path, in), nil
}

// in is the predicate of $in: it matches a value that equals one of many values, or matches one of the patterns.
type in struct {
	rules
	values  []bson.Value // sorted by order, without duplicates
	regexes []*regex
	null    bool       // values has null
	written bson.Value // the array in the filter; missing if there was none
}

// newIn makes the predicate from values without regular expressions.
func newIn(values []bson.Value, r rules) *in {
	n := &in{rules: r, values: values}
	n.sort()
	return n
}

func (n *in) sort() {
	slices.SortStableFunc(n.values, func(a, b bson.Value) int { return bson.Compare(a, b, n.order) })
	n.values = slices.CompactFunc(n.values, func(a, b bson.Value) bool { return bson.Equal(a, b, n.order) })
	n.null = slices.ContainsFunc(n.values, func(v bson.Value) bool { return v.Type == bson.TypeNull })
}

func (n *in) name() string { return "$in" }

func (*in) reasons() (no, yes string) {
	return "no matching value found in array", "matching value found in array"
}

func (*in) sameForEqual() bool { return true }

func (n *in) holds(env *mql.Env, v bson.Value, s *expr.Scratch) (bool, error) {
	if v.IsNullish() {
		return n.null && n.equalsNull(v), nil
	}
	// A hand-written binary search, because the generic one takes a closure.
	lo, hi := 0, len(n.values)
	for lo < hi {
		m := int(uint(lo+hi) / 2)
		switch c := bson.Compare(v, n.values[m], n.order); {
		case c == 0:
			return true, nil
		case c < 0:
			hi = m
		default:
			lo = m + 1
		}
	}
	for _, r := range n.regexes {
		if err := env.Tick(); err != nil {
			return false, err
		}
		if ok, err := r.holds(env, v, s); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (n *in) append(b *bson.Builder) {
	b.BeginArray("$in")
	for _, v := range n.values {
		b.Value("", v)
	}
	for _, r := range n.regexes {
		b.Value("", r.source)
	}
	b.End()
}

func (n *in) shape(dst []byte) []byte {
	dst = append(dst, "$in "...)
	for _, c := range valueKinds {
		if slices.ContainsFunc(n.values, func(v bson.Value) bool { return valueShape(v) == byte(c) }) {
			dst = append(dst, byte(c))
		}
	}
	if len(n.regexes) > 0 {
		dst = append(dst, 'r')
	}
	return dst
}

func (n *in) bounds(add func(Interval)) (exact bool) {
	exact = true
	list := make([]Interval, 0, len(n.values))
	collect := func(i Interval) { list = append(list, i) }
	for _, v := range n.values {
		exact = n.equalBounds(v, collect) && exact
	}
	for _, r := range n.regexes {
		exact = r.bounds(collect) && exact
	}
	for _, i := range union(list) {
		add(i)
	}
	return exact
}

// proofsMax is the largest number of values of a $nin for which the gaps between the values are used as bounds of an
// index. With more values, the gaps cost more to compute and to seek than a scan.
const proofsMax = 10_000

// proofs implements prover.
func (n *in) proofs(single bool, add func(Interval)) {
	if len(n.values) > proofsMax {
		return
	}
	list := make([]Interval, 0, len(n.values))
	collect := func(i Interval) { list = append(list, i) }
	for _, v := range n.values {
		(&comparison{rules: n.rules, rel: opEqual, with: v}).proofs(single, collect)
	}
	for _, i := range union(list) {
		add(i)
	}
}

// leafIn returns the node {path: {$in: values}}.
func leafIn(p path.Path, values []bson.Value, r rules) *Leaf {
	return newLeaf(p, newIn(values, r))
}
