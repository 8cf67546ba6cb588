package match

import (
	"slices"

	"github.com/cantledb/cantle/bson"
)

// joinEqualities joins the $eq and $in on the same path, clauses of one $or, into one $in.
func joinEqualities(list []Node) []Node {
	return joinLeaves(list, 2, equalLeaf, func(l *Leaf) Node { return l })
}

// joinInequalities joins the $ne and $nin on the same path, conjuncts of one $and, into one $nin, if there are
// inequalitiesMin of them: each would cut the list of intervals of the others again, so that n of them cost n².
// Fewer stay as they are written, as in MongoDB, whose explain shows them.
func joinInequalities(list []Node) []Node {
	return joinLeaves(list, inequalitiesMin, unequalLeaf, func(l *Leaf) Node { return &Not{l.path, normalLeaf(l)} })
}

// inequalitiesMin is the number of inequalities on one path from which on they are joined.
const inequalitiesMin = 16

// equalLeaf returns n if it is a leaf that equalTo accepts, else nil.
func equalLeaf(n Node) *Leaf {
	if l, ok := n.(*Leaf); ok {
		if _, _, ok := equalTo(l); ok {
			return l
		}
	}
	return nil
}

// unequalLeaf returns the leaf that n negates if equalTo accepts it, else nil.
func unequalLeaf(n Node) *Leaf {
	if n, ok := n.(*Not); ok {
		return equalLeaf(n.child)
	}
	return nil
}

// joinLeaves replaces the nodes of a list from which leafOf extracts a leaf of equality by one node per path, made from
// the $in of all their values by nodeOf, if the path has at least least of them. The new node stands in the place of
// the first.
func joinLeaves(list []Node, least int, leafOf func(Node) *Leaf, nodeOf func(*Leaf) Node) []Node {
	count := map[string]int{}
	many := false
	for _, c := range list {
		if l := leafOf(c); l != nil {
			count[l.path.String()]++
			many = many || count[l.path.String()] >= least
		}
	}
	if !many {
		return list
	}
	type group struct {
		leaf   *Leaf // the first leaf
		at     int   // its index
		rules  rules
		values []bson.Value
	}
	var out []Node
	var groups []*group
	byPath := map[string]*group{}
	for _, c := range list {
		l := leafOf(c)
		if l == nil || count[l.path.String()] < least {
			out = append(out, c)
			continue
		}
		values, rules, _ := equalTo(l)
		g := byPath[l.path.String()]
		if g == nil {
			g = &group{leaf: l, at: len(out), rules: rules, values: slices.Clone(values)}
			byPath[l.path.String()] = g
			groups = append(groups, g)
			out = append(out, c)
			continue
		}
		g.values = append(g.values, values...)
	}
	for _, g := range groups {
		out[g.at] = nodeOf(leafIn(g.leaf.path, g.values, g.rules)) // newIn sorts the values, so it is called once
	}
	return out
}
