package regex

// checkLookBehinds fails if a look-behind of PCRE2 has an alternative that matches texts of different lengths.
func checkLookBehinds(t *Tree) {
	l := lengths{groups: map[int]*node{}}
	t.root.walk(func(n *node) bool {
		if n.kind == kindGroup && l.groups[n.n] == nil {
			l.groups[n.n] = n
		}
		return true
	})
	t.root.walk(func(n *node) bool {
		if n.kind != kindLook || !n.behind {
			return true
		}
		for _, branch := range alternativesOf(n.sub[0]) {
			l.work = 0
			size, ok := l.of(branch, 0)
			if !ok || size > lookBehind {
				fail("lookbehind assertion is not fixed length")
			}
		}
		return true
	})
}

// alternativesOf returns the alternatives of a node, itself if it is none.
func alternativesOf(n *node) []*node {
	if n.kind == kindAlt {
		return n.sub
	}
	return []*node{n}
}

// lengths computes the lengths of texts that nodes match.
type lengths struct {
	groups map[int]*node
	work   int
}

// Limits of the computation: calls within calls could take time that doubles with each.
const (
	lengthDepthMax = 1000
	lengthWorkMax  = 1 << 13
)

// of returns the number of characters that a node matches; ok is false if it is not always the same one.
func (l *lengths) of(n *node, depth int) (size int, ok bool) {
	if l.work++; depth > lengthDepthMax || l.work > lengthWorkMax {
		return 0, false
	}
	switch n.kind {
	case kindChar, kindClass, kindAny, kindDot:
		return 1, true
	case kindGrapheme:
		return 0, false
	case kindGroup, kindAtomic:
		return l.of(n.sub[0], depth+1)
	case kindConcat:
		for _, s := range n.sub {
			if s.kind == kindVerb && (s.verb == verbAccept || s.verb == verbFail) {
				return size, true
			}
			one, ok := l.of(s, depth+1)
			if size += one; !ok || size > lookBehind {
				return 0, false
			}
		}
		return size, true
	case kindAlt:
		return l.same(n.sub, depth)
	case kindCond:
		return l.same(n.sub[1:], depth)
	case kindRepeat:
		one, ok := l.of(n.sub[0], depth+1)
		if !ok || n.min != n.max || one*n.min > lookBehind {
			return 0, false
		}
		return one * n.min, true
	case kindRef, kindCall:
		g := l.groups[n.n]
		if g == nil {
			return 0, false
		}
		return l.of(g, depth+1)
	}
	return 0, true
}

// same returns the length of several nodes, if all have the same one.
func (l *lengths) same(list []*node, depth int) (size int, ok bool) {
	for i, s := range list {
		one, ok := l.of(s, depth+1)
		if !ok || i > 0 && one != size {
			return 0, false
		}
		size = one
	}
	return size, true
}
