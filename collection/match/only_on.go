package match

// OnlyOn reports whether a filter reads only one top-level field of the document, or paths inside it.
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
