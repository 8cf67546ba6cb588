package match

var opEq = Operator{Name: "$eq", Where: Field, Parse: parseEq, Doc: "reference/operator/query/eq"}

// parseEq reads {$eq: value}. Unlike {field: /x/}, a regular expression is
// compared as a value.
func parseEq(p *parser, a operand) (Node, error) { return p.comparison(a.path, opEqual, a.value) }
