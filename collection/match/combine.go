package match

// AllOf returns the filter that matches if all nodes match. Without nodes it always matches. The planner
// makes residual filters with it.
func AllOf(nodes ...Node) Node {
	switch len(nodes) {
	case 0:
		return Always(true)
	case 1:
		return nodes[0]
	}
	return newAnd(nodes)
}
