package match

import "github.com/cantledb/cantle/bson"

var opNe = Operator{Name: "$ne", Where: Field, Parse: parseNe, Doc: "reference/operator/query/ne"}

func parseNe(p *parser, a operand) (Node, error) {
	if a.value.Type == bson.TypeRegex {
		return nil, badValue("Can't have regex as arg to $ne.")
	}
	n, err := p.comparison(a.path, opEqual, a.value)
	if err != nil {
		return nil, err
	}
	return &Not{a.path, n}, nil
}
