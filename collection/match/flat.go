package match

import "github.com/cantledb/cantle/bson"

// FlatBounds returns the index keys of the documents that match n, if n is a condition on a path on which no document
// of the index has an array. Each document then has one key, so more conditions have exact bounds than by Pathed: null,
// whose key is shared only by a missing value, and negations of exact conditions. ok is false if the bounds would not be
// exact.
func FlatBounds(n Pathed) (ivs []Interval, ok bool) {
	if n.Path().HasPosition() {
		return nil, false // an index of such a path holds elements of arrays without recording that there are any
	}
	if n, negated := n.(*Not); negated {
		ivs, ok = flat(n.child)
		return complement(ivs), ok
	}
	return flat(n)
}

// flatter is a predicate whose bounds are exact if there are no arrays, although they are not in general.
type flatter interface {
	// flatBounds is bounds for an index without arrays on the path.
	flatBounds(add func(Interval)) (exact bool)
}

// flat returns the exact bounds of conditions on one path without arrays; ok is false if there are none.
func flat(n Node) (ivs []Interval, ok bool) {
	switch n := n.(type) {
	case *And:
		ivs = []Interval{AllValues()}
		for _, c := range n.list {
			own, ok := flat(c)
			if !ok || EndWithText(ivs) && EndWithText(own) && isCollated(c) {
				return nil, false
			}
			ivs = Intersect(ivs, own)
		}
		return ivs, true
	case *Leaf:
		add := func(i Interval) { ivs = append(ivs, i) }
		if f, is := n.pred.(flatter); is {
			ok = f.flatBounds(add)
		} else {
			ok = n.pred.bounds(add)
		}
		return ivs, ok
	}
	return nil, false
}

// isCollated reports whether a condition compares text by a collation. Its intervals are in the order of bytes, so they
// cannot be intersected with those of another condition on text.
func isCollated(n Node) bool {
	l, ok := n.(*Leaf)
	if !ok {
		return false
	}
	r, ok := l.pred.(interface{ collated() bool })
	return ok && r.collated()
}

// collated reports whether text is compared by a collation.
func (r rules) collated() bool { return r.order != nil }

// flatBounds implements flatter.
func (c *comparison) flatBounds(add func(Interval)) (exact bool) {
	if c.matchesNull() {
		return c.flatNull(add)
	}
	return c.bounds(add)
}

// flatBounds implements flatter.
func (n *in) flatBounds(add func(Interval)) (exact bool) {
	if len(n.values) > proofsMax {
		return false
	}
	exact = true
	list := make([]Interval, 0, len(n.values))
	collect := func(i Interval) { list = append(list, i) }
	for _, v := range n.values {
		if v.Type == bson.TypeNull {
			exact = n.flatNull(collect) && exact
		} else {
			exact = n.equalBounds(v, collect) && exact
		}
	}
	for _, r := range n.regexes {
		exact = r.bounds(collect) && exact
	}
	for _, i := range union(list) {
		add(i)
	}
	return exact
}

// flatNull adds the keys of null and of missing values, and of undefined if null equals it.
func (r rules) flatNull(add func(Interval)) (exact bool) {
	i := point(bson.Null)
	if r.undefined {
		i.Lo = undefined
	}
	add(i)
	return true
}

// complement returns the intervals between ascending intervals.
func complement(ivs []Interval) (out []Interval) {
	lo, inclusive := bson.MinKey, true
	for _, i := range ivs {
		if c := bson.Compare(lo, i.Lo, nil); c < 0 || c == 0 && inclusive && !i.LoInclusive {
			out = append(out, Interval{lo, i.Lo, inclusive, !i.LoInclusive})
		}
		lo, inclusive = i.Hi, !i.HiInclusive
	}
	if lo.Type != bson.TypeMaxKey || inclusive {
		out = append(out, Interval{lo, bson.MaxKey, inclusive, true})
	}
	return out
}
