package match

// AllOf is the filter that holds when every one of nodes does; nothing given
// holds always. The planner makes residual filters with it.
func AllOf(nodes ...Node) Node {
	switch len(nodes) {
	case 0:
		return Always(true)
	case 1:
		return nodes[0]
	}
	return newAnd(nodes)
}
