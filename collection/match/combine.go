package match

// AllOf returns the filter that matches a document if all nodes match; without nodes it always matches. The planner
// joins with it the conditions that an index does not answer (the residual filter).
func AllOf(nodes ...Node) Node {
	switch len(nodes) {
	case 0:
		return Always(true)
	case 1:
		return nodes[0]
	}
	return newAnd(nodes)
}
