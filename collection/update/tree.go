package update

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// node is a component of one or more paths of an update; its children are the next components. Immutable after
// parsing.
type node struct {
	step
	// path is the text of the path up to this node.
	path string
	// do is the action of the operator whose path ends here; nil for an inner node.
	do action
	// children of an inner node in the order of creation.
	children []*node
	// byName looks up named children if there are many.
	byName map[string]int
	// arrays is set if the children are $[] and $[id], which apply only to arrays.
	arrays bool
	// can has the traits of the actions at and below the node: creates if one of them has it, tolerant and onInsert
	// if all have it.
	can traits
	// filter is the index of the array filter of a $[id].
	filter int
}

// insert adds an action at a path.
//
// Errors: ConflictingUpdateOperators.
func (n *node) insert(at *fieldPath, do action, filterOf func(id string) int) error {
	end := 0
	for i := range at.steps {
		s := at.steps[i]
		if i > 0 {
			end++
		}
		text := s.name
		if s.kind == filtered {
			text = "$[" + s.name + "]"
		}
		end += len(text)
		dynamic := s.kind == all || s.kind == filtered
		if len(n.children) > 0 && n.arrays != dynamic {
			return conflict(at.text, n.path)
		}
		n.arrays = dynamic
		child := n.child(s)
		last := i == len(at.steps)-1
		switch {
		case child == nil:
			child = &node{step: s, path: at.text[:end], filter: -1}
			if s.kind == filtered {
				child.filter = filterOf(s.name)
			}
			n.add(child)
		case last || child.do != nil:
			return conflict(at.text, child.path)
		}
		if last {
			child.do = do
		}
		n = child
	}
	return nil
}

func conflict(text, at string) error {
	return mongoerr.New(mongoerr.ConflictingUpdateOperators, "Updating the path '%s' would create a conflict at '%s'", text, at)
}

func (n *node) child(s step) *node {
	if s.kind == named && n.byName != nil {
		if i, ok := n.byName[s.name]; ok {
			return n.children[i]
		}
		return nil
	}
	for _, c := range n.children {
		if c.kind == s.kind && c.name == s.name {
			return c
		}
	}
	return nil
}

// linearMax is the largest number of children that are searched linearly.
const linearMax = 8

// add appends a child to the node. With many children, a map of names makes the conflict checks of huge updates
// fast.
func (n *node) add(child *node) {
	n.children = append(n.children, child)
	switch {
	case n.byName != nil:
		if child.kind == named {
			n.byName[child.name] = len(n.children) - 1
		}
	case len(n.children) > linearMax:
		n.indexNames()
	}
}

// finish completes the tree after parsing: it sorts the children of n and of all nodes below, and combines their
// traits.
func (n *node) finish() {
	for _, c := range n.children {
		c.finish()
	}
	n.sum()
}

// sum is finish for n alone.
func (n *node) sum() {
	if n.do != nil {
		n.can = n.do.traits()
		return
	}
	slices.SortFunc(n.children, func(a, b *node) int { return a.compare(b) })
	n.can = tolerant | onInsert
	for _, c := range n.children {
		n.can = n.can&c.can&(tolerant|onInsert) | (n.can|c.can)&creates
	}
	if len(n.children) > linearMax {
		n.indexNames()
	}
}

// indexNames builds the map of named children.
func (n *node) indexNames() {
	n.byName = make(map[string]int, len(n.children))
	for i, c := range n.children {
		if c.kind == named {
			n.byName[c.name] = i
		}
	}
}

// compare orders the children of a node as new fields are created: positions by number, then names by bytes. Manual:
// reference/operator/update#behavior.
func (n *node) compare(o *node) int {
	switch {
	case n.index >= 0 && o.index >= 0:
		return cmp.Compare(n.index, o.index)
	case n.index >= 0:
		return -1
	case o.index >= 0:
		return 1
	}
	return strings.Compare(n.name, o.name)
}

// merged returns one node for several nodes that apply to the same array element, such as $[] and $[id], or $ and a
// number. at is the element's path, for errors.
//
// Errors: ConflictingUpdateOperators.
func merged(nodes []*node, at string) (*node, error) {
	if len(nodes) == 1 {
		return nodes[0], nil
	}
	m := &node{step: step{index: -1}, path: at, filter: -1}
	for _, n := range nodes {
		if n.do != nil {
			return nil, mongoerr.New(mongoerr.ConflictingUpdateOperators, "Update created a conflict at '%s'", at)
		}
		if len(m.children) > 0 && len(n.children) > 0 && m.arrays != n.arrays {
			return nil, mongoerr.New(mongoerr.ConflictingUpdateOperators, "Update created a conflict at '%s'", at)
		}
		m.arrays = n.arrays
		for _, c := range n.children {
			i := slices.IndexFunc(m.children, func(o *node) bool { return o.kind == c.kind && o.name == c.name })
			if i < 0 {
				m.children = append(m.children, c)
				continue
			}
			both, err := merged([]*node{m.children[i], c}, at+"."+c.name)
			if err != nil {
				return nil, err
			}
			both.step, both.filter = c.step, c.filter
			m.children[i] = both
		}
	}
	m.sum()
	return m, nil
}
