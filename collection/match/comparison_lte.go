package match

var opLte = Operator{Name: "$lte", Where: Field, Parse: parseLte, Doc: "reference/operator/query/lte"}

func parseLte(p *parser, a operand) (Node, error) { return p.comparison(a.path, opLessEqual, a.value) }
