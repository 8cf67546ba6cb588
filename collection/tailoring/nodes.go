package tailoring

import "fmt"

// node is a place in the order: a weight of the root order, or a tailored string behind one. Nodes of one primary weight
// form a list; a node differs from the one in front of it by its strength.
type node struct {
	strength int
	tailored bool
	root     element // of a root node: the weights of which the last is its own
	next     *node
	list     *list

	// The computed weights.
	primary   []byte
	secondary uint16
	tertiary  byte
}

// list holds the nodes of one primary weight of the root order, or those between it and the one before it.
type list struct {
	base   uint32
	before int // the strength of [before n], 0 for the list behind the weight
	first  *node
}

// listKey finds a list.
type listKey struct {
	primary   uint32
	secondary uint16 // of a list before a secondary weight
	before    int
}

// order holds the lists of one tailoring.
type order struct {
	lists map[listKey]*list
	keys  []listKey // in the order of their making
}

// list returns the list of a key. Its first node has the weights of the root element e.
func (o *order) list(k listKey, e element) *list {
	l := o.lists[k]
	if l == nil {
		l = &list{base: k.primary, before: k.before}
		l.first = &node{strength: primary, root: e, list: l}
		o.lists[k] = l
		o.keys = append(o.keys, k)
	}
	return l
}

// at returns the node of a root element, and makes it if needed.
func (o *order) at(e element) *node {
	base := element{e.primary, CommonSecondary, CommonTertiary}
	if e.primary == 0 {
		base.secondary = 0
	}
	n := o.list(listKey{primary: e.primary}, base).first
	if e.secondary != base.secondary && e.secondary != 0 {
		n = n.rootBelow(secondary, element{e.primary, e.secondary, CommonTertiary})
	}
	if e.tertiary != CommonTertiary {
		n = n.rootBelow(tertiary, e)
	}
	return n
}

// rootBelow returns the root node of a weaker strength that belongs to n, and inserts it at its place if needed.
func (n *node) rootBelow(strength int, e element) *node {
	less := func(x, y element) bool {
		if strength == secondary {
			return x.secondary < y.secondary
		}
		return x.tertiary < y.tertiary
	}
	at := n
	for x := n.next; x != nil && x.strength >= strength; x = x.next {
		if x.strength == strength && !x.tailored && !less(x.root, e) {
			if x.root == e {
				return x
			}
			break
		}
		at = x
	}
	x := &node{strength: strength, root: e, list: n.list, next: at.next}
	at.next = x
	return x
}

// insert adds a tailored node with a strength behind n.
func (n *node) insert(strength int) *node {
	at := n
	for at.next != nil && at.next.strength > strength {
		at = at.next
	}
	x := &node{strength: strength, tailored: true, list: n.list, next: at.next}
	at.next = x
	return x
}

// last returns the last node.
func (l *list) last() *node {
	n := l.first
	for n.next != nil {
		n = n.next
	}
	return n
}

// insertBefore adds a tailored node in front of the tailored node n, or of the group to which n belongs.
func (n *node) insertBefore(strength int) (*node, error) {
	var previous *node // the node in front of the last one that begins a group
	for x, last := n.list.first, (*node)(nil); x != nil; last, x = x, x.next {
		if x.strength <= strength {
			previous = last
		}
		if x == n {
			break
		}
	}
	if previous == nil {
		return nil, fmt.Errorf("no place before the first of a list")
	}
	x := &node{strength: strength, tailored: true, list: n.list, next: previous.next}
	previous.next = x
	return x, nil
}

// Steps of weights: a weight of the root order is multiplied, so that tailored weights have room behind it.
const (
	secondaryStep = 16
	tertiaryStep  = 8
)

// weigh computes the weights of the nodes of a list. encode returns the bytes of a primary weight of the root order.
//
// A tailored primary weight is that of the root, a byte that no root weight begins with, and a number; numbers from
// beforeFirst on are those between the weight and the next.
func (l *list) weigh(encode func(uint32) []byte) error {
	count, s, t := 0, 0, 0
	var bytes []byte
	if l.base != 0 {
		bytes = encode(l.base)
	}
	if l.before == primary {
		bytes, count = less(bytes), beforeFirst
	}
	root := bytes
	for n := l.first; n != nil; n = n.next {
		switch {
		case !n.tailored:
			s, t = int(n.root.secondary)*secondaryStep, int(n.root.tertiary)*tertiaryStep
			if l.before == secondary {
				s -= l.count() + 1
			}
		case n.strength == primary:
			if l.base == 0 {
				return fmt.Errorf("a primary difference behind an ignored character")
			}
			count++
			bytes = append(append([]byte(nil), root...), tailoredMark, byte(count>>8)+1, byte(count))
			s, t = CommonSecondary*secondaryStep, CommonTertiary*tertiaryStep
		case n.strength == secondary:
			s, t = s+1, CommonTertiary*tertiaryStep
		default:
			t++
		}
		if s >= 1<<16 || t >= 1<<8 || n.tailored && n.meetsRoot(s, t) {
			return fmt.Errorf("no room behind weight %d", l.base)
		}
		n.primary, n.secondary, n.tertiary = bytes, uint16(s), byte(t)
	}
	return nil
}

// meetsRoot reports whether the next root node of the strength of n has a weight that is not behind s or t.
func (n *node) meetsRoot(s, t int) bool {
	for x := n.next; x != nil && x.strength >= n.strength; x = x.next {
		if x.strength == n.strength && !x.tailored {
			return n.strength == secondary && s >= int(x.root.secondary)*secondaryStep ||
				n.strength == tertiary && t >= int(x.root.tertiary)*tertiaryStep
		}
	}
	return false
}

// count returns the number of tailored secondary nodes.
func (l *list) count() (n int) {
	for x := l.first; x != nil; x = x.next {
		if x.tailored && x.strength == secondary {
			n++
		}
	}
	return n
}

const (
	// tailoredMark begins the number of a tailored primary weight; no primary weight of the root begins with it.
	tailoredMark = 0xff
	// beforeFirst is the number in front of the first in a list before a weight, above all in a list behind one.
	beforeFirst = 1 << 14
)

// less returns the weight in front of a primary weight, of which no root weight is between both.
func less(w []byte) []byte {
	w = append([]byte(nil), w...)
	for i := len(w) - 1; i >= 0; i-- {
		w[i]--
		if w[i] != 0xff {
			break
		}
	}
	return w
}
