package histories

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// realTime adds to the graph an edge from each acknowledged transaction to each one that began after the
// acknowledgement. Edges that follow from others are left out: at each begin, front holds only the transactions that
// ended before it, without those that ended before the begin of another transaction in front.
func (c *checker) realTime() {
	var ended, all []int
	for i, t := range c.history {
		if t.Outcome == Committed && t.End > 0 {
			ended = append(ended, i)
			all = append(all, i)
		}
	}
	slices.SortFunc(ended, func(a, b int) int { return cmp.Compare(c.history[a].End, c.history[b].End) })
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(c.history[a].Begin, c.history[b].Begin) })
	var front []int // those from which edges are added
	for _, i := range all {
		for len(ended) > 0 && c.history[ended[0]].End < c.history[i].Begin {
			next := ended[0]
			ended = ended[1:]
			front = slices.DeleteFunc(front, func(old int) bool { return c.history[old].End < c.history[next].Begin })
			front = append(front, next)
		}
		for _, before := range front {
			c.link(before, i, rt)
		}
	}
}

// cycles looks for cycles of dependencies in which each rw edge is followed by an edge of another kind, which
// snapshot isolation forbids. It finds them as the cycles of a graph that has each transaction i twice: node 2i,
// which any edge may leave, and node 2i+1, which was reached by an rw edge and which no rw edge leaves.
func (c *checker) cycles() {
	n := 2 * len(c.graph)
	s := &strong{next: c.next, index: make([]int, n), low: make([]int, n), in: make([]bool, n)}
	for v := range n {
		if s.index[v] == 0 {
			s.visit(v)
		}
	}
	for _, group := range s.groups {
		c.bad("%s", c.name(c.shortestCycle(group)))
	}
}

// next calls f for the successors of a node.
func (c *checker) next(v int, f func(to int, k kind)) {
	for _, e := range c.graph[v/2] {
		switch {
		case e.kind != rw:
			f(2*e.to, e.kind)
		case v%2 == 0:
			f(2*e.to+1, e.kind)
		}
	}
}

// step is an edge of a cycle.
type step struct {
	from int
	kind kind
}

// shortestCycle returns a shortest cycle through the first node of a group of connected nodes, for the report.
func (c *checker) shortestCycle(group []int) (way []step) {
	within := map[int]bool{}
	for _, v := range group {
		within[v] = true
	}
	start := group[0]
	came := map[int]step{}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		c.next(at, func(to int, k kind) {
			if _, seen := came[to]; !seen && within[to] {
				came[to] = step{at, k}
				queue = append(queue, to)
			}
		})
		if _, back := came[start]; back {
			break
		}
	}
	for at := start; ; {
		s := came[at]
		way = append(way, step{s.from / 2, s.kind})
		if at = s.from; at == start {
			break
		}
	}
	slices.Reverse(way)
	return way
}

// name returns the name of the anomaly that a cycle of dependencies proves, such as G1c, followed by the cycle.
func (c *checker) name(way []step) string {
	var count [4]int
	var b strings.Builder
	for _, s := range way {
		count[s.kind]++
		fmt.Fprintf(&b, "%d -%v-> ", s.from, s.kind)
	}
	name := "G0"
	switch {
	case count[rw] > 1:
		name = "G-nonadjacent"
	case count[rw] == 1:
		name = "G-single"
	case count[wr] > 0 || count[rt] > 0:
		name = "G1c"
	}
	if count[rt] > 0 {
		name += "-realtime"
	}
	return fmt.Sprintf("%s: %s%d", name, b.String(), way[0].from)
}

// strong finds the strongly connected components of a graph by Tarjan's algorithm, without recursion, whose depth
// would grow with the graph.
type strong struct {
	next   func(v int, f func(to int, k kind))
	index  []int // 0 = not visited
	low    []int
	in     []bool // on the stack
	stack  []int
	count  int
	groups [][]int
}

// frame is a node whose successors are being visited.
type frame struct {
	node int
	to   []int
}

func (s *strong) enter(v int) frame {
	s.count++
	s.index[v], s.low[v], s.in[v] = s.count, s.count, true
	s.stack = append(s.stack, v)
	f := frame{node: v}
	s.next(v, func(to int, _ kind) { f.to = append(f.to, to) })
	return f
}

func (s *strong) visit(root int) {
	calls := []frame{s.enter(root)}
	for len(calls) > 0 {
		f := &calls[len(calls)-1]
		if len(f.to) > 0 {
			to := f.to[0]
			f.to = f.to[1:]
			if s.index[to] == 0 {
				calls = append(calls, s.enter(to))
			} else if s.in[to] {
				s.low[f.node] = min(s.low[f.node], s.index[to])
			}
			continue
		}
		v := f.node
		calls = calls[:len(calls)-1]
		if len(calls) > 0 {
			up := calls[len(calls)-1].node
			s.low[up] = min(s.low[up], s.low[v])
		}
		if s.low[v] != s.index[v] {
			continue
		}
		at := slices.Index(s.stack, v)
		group := slices.Clone(s.stack[at:])
		for _, u := range group {
			s.in[u] = false
		}
		s.stack = s.stack[:at]
		if len(group) > 1 {
			s.groups = append(s.groups, group)
		}
	}
}
