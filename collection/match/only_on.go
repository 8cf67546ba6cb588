package match

// OnlyOn reports that a filter looks at nothing but one field of the document and
// what is in it.
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
