package match

var opLt = Operator{Name: "$lt", Where: Field, Parse: parseLt, Doc: "reference/operator/query/lt"}

func parseLt(p *parser, a operand) (Node, error) { return p.comparison(a.path, opLess, a.value) }
