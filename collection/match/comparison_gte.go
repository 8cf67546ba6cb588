package match

var opGte = Operator{Name: "$gte", Where: Field, Parse: parseGte, Doc: "reference/operator/query/gte"}

func parseGte(p *parser, a operand) (Node, error) {
	return p.comparison(a.path, opGreaterEqual, a.value)
}
