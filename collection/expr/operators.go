package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/mongoerr"
)

// Operator is a row of the table of operators.
type Operator struct {
	// Name with the dollar sign.
	Name string
	// Min and Max number of positional arguments; Max -1 is unbounded. Zero for
	// operators with named arguments.
	Min, Max int
	// Parse reads the operator's argument.
	Parse func(p *parser, op *Operator, arg bson.Value) (Expr, error)
	// Doc is the page of the manual.
	Doc string
}

// notImplemented is the parse function of operators that are known but refused.
func notImplemented(_ *parser, op *Operator, _ bson.Value) (Expr, error) {
	return nil, mongoerr.New(mongoerr.CommandNotSupported, "%s is not supported", op.Name)
}

// Operators is the table of all expression operators, in alphabetical order.
var Operators = []Operator{
	{Name: "$add", Max: -1, Parse: positional(addAll), Doc: "reference/operator/aggregation/add"},
	{Name: "$and", Max: -1, Parse: parseJunction(false), Doc: "reference/operator/aggregation/and"},
	{Name: "$cmp", Min: 2, Max: 2, Parse: positional(compareValues), Doc: "reference/operator/aggregation/cmp"},
	{Name: "$const", Parse: parseLiteral, Doc: "reference/operator/aggregation/literal"},
	{Name: "$eq", Min: 2, Max: 2, Parse: positional(comparison(isEq)), Doc: "reference/operator/aggregation/eq"},
	{Name: "$gt", Min: 2, Max: 2, Parse: positional(comparison(isGt)), Doc: "reference/operator/aggregation/gt"},
	{Name: "$gte", Min: 2, Max: 2, Parse: positional(comparison(isGte)), Doc: "reference/operator/aggregation/gte"},
	{Name: "$literal", Parse: parseLiteral, Doc: "reference/operator/aggregation/literal"},
	{Name: "$lt", Min: 2, Max: 2, Parse: positional(comparison(isLt)), Doc: "reference/operator/aggregation/lt"},
	{Name: "$lte", Min: 2, Max: 2, Parse: positional(comparison(isLte)), Doc: "reference/operator/aggregation/lte"},
	{Name: "$multiply", Max: -1, Parse: positional(multiplyAll), Doc: "reference/operator/aggregation/multiply"},
	{Name: "$ne", Min: 2, Max: 2, Parse: positional(comparison(isNe)), Doc: "reference/operator/aggregation/ne"},
	{Name: "$not", Min: 1, Max: 1, Parse: positional(not), Doc: "reference/operator/aggregation/not"},
	{Name: "$or", Max: -1, Parse: parseJunction(true), Doc: "reference/operator/aggregation/or"},
	{Name: "$subtract", Min: 2, Max: 2, Parse: positional(subtract), Doc: "reference/operator/aggregation/subtract"},
}
