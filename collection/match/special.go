package match

// CheckNearAndText refuses $near and $text in places where no index can answer them. $near must be at the top of the
// filter, under $and or under an $or of one clause; $text may not be under $nor or $not. Only one of them may occur,
// and once.
//
// Errors: 2 BadValue.
func CheckNearAndText(n Node) error {
	near, text, err := 0, 0, error(nil)
	var visit func(n Node, top bool, under string)
	visit = func(n Node, top bool, under string) {
		switch n.(type) {
		case *Near:
			if near++; !top {
				err = badValue("geoNear must be top-level expr")
			}
		case *Text:
			if text++; under == "$nor" {
				err = badValue("text expression not allowed in nor")
			}
		case *And:
		case *Or:
			top = top && len(n.Children()) == 1 // equivalent to its child
		case *Nor, *Not:
			top, under = false, "$nor"
		default:
			top = false
		}
		for _, c := range n.Children() {
			visit(c, top, under)
		}
	}
	visit(n, true, "")
	switch {
	case err != nil:
		return err
	case near > 1:
		return badValue("Too many geoNear expressions")
	case text > 1:
		return badValue("Too many text expressions")
	case near > 0 && text > 0:
		return badValue("text and geoNear not allowed in same query")
	}
	return nil
}

// Feature is a bit set of those features of the filter language that are not allowed everywhere, such as $near.
type Feature uint8

// The features.
const (
	UsesNear Feature = 1 << iota
	UsesText
	UsesWhere
	UsesExpr
	UsesSchema
	UsesSample
)

// Features returns the features that the filter n uses. Validators, partial indexes, views and change streams each
// forbid some of them, with their own errors.
func Features(n Node) Feature {
	var f Feature
	Walk(n, func(n Node) {
		switch n.(type) {
		case *Near:
			f |= UsesNear
		case *Text:
			f |= UsesText
		case *Where:
			f |= UsesWhere
		case *Expr:
			f |= UsesExpr
		case *Schema:
			f |= UsesSchema
		case Sample:
			f |= UsesSample
		}
	})
	return f
}
