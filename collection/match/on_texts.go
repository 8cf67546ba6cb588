package match

import "github.com/cantledb/cantle/collection/mql"

// OnText is a condition of a filter on the text at one path, which is tested without a document.
type OnText struct {
	// Path is the path of the text.
	Path string
	re   *mql.Regex
}

// OnTexts returns the conditions that the filter n makes by regular expressions on single paths, for a path without
// arrays. Every match of n satisfies them; alone reports that the filter has no other condition for a string or symbol.
func OnTexts(n Node) (tests []OnText, alone bool) {
	switch n := n.(type) {
	case *Leaf:
		if r, ok := n.pred.(*regex); ok && !n.path.HasPosition() {
			return []OnText{{n.path.String(), r.re}}, true
		}
	case *And:
		for _, c := range n.Children() {
			if _, nested := c.(*And); !nested {
				t, _ := OnTexts(c)
				tests = append(tests, t...)
			}
		}
	}
	return tests, false
}

// Holds reports whether a text satisfies the condition. known is false if that takes long to find, or may fail.
// Holds does not allocate.
func (t *OnText) Holds(text []byte) (ok, known bool) { return t.re.MatchLinear(text) }
