package match

var opComment = Operator{Name: "$comment", Where: Top | Field, Parse: parseComment, Doc: "reference/operator/query/comment"}

// parseComment accepts any value and adds nothing to the filter.
func parseComment(*parser, operand) (Node, error) { return nil, nil }
