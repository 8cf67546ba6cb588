package match

var opGt = Operator{Name: "$gt", Where: Field, Parse: parseGt, Doc: "reference/operator/query/gt"}

func parseGt(p *parser, a operand) (Node, error) { return p.comparison(a.path, opGreater, a.value) }
