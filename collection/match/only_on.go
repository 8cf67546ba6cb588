package match

// OnlyOn reports whether all conditions of a filter are on paths that begin with the top-level field. It returns
// false for filters with $expr, $where, $text, $jsonSchema or $sampleRate.
func OnlyOn(n Node, field string) bool {
	if p, ok := n.(Pathed); ok {
		return p.Path().First() == field
	}
	switch n.(type) {
	case Always:
		return true
	case *And, *Or, *Nor:
		for _, c := range n.Children() {
			if !OnlyOn(c, field) {
				return false
			}
		}
		return true
	}
	return false
}
