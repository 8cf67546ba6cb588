package match

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
)

// Level is the set of places where an operator is allowed.
type Level uint8

// The levels.
const (
	// Field operators occur in {field: {$op: …}}.
	Field Level = 1 << iota
	// Top operators occur in place of a field: {$op: …}.
	Top
)

// Operator is a row of the table of operators.
type Operator struct {
	// Name with the dollar sign.
	Name string
	// Where the operator is allowed.
	Where Level
	// Parse reads the operator; a nil Node without error adds nothing.
	Parse func(p *parser, a operand) (Node, error)
	// Since is the first release of MongoDB that has the operator, such as "8.2"; "" if the operator is older than
	// 3.6 or not in the manual.
	Since string
	// Doc is the page of the manual.
	Doc string
}

// operand holds the arguments of an operator's parse function.
type operand struct {
	// op is the row of the operator.
	op *Operator
	// path is the field with the operator; the zero Path for operators in place of a field (Top) and in the form of
	// $elemMatch with operators.
	path path.Path
	// value is the operator's argument.
	value bson.Value
	// all is the document that contains the operator, for operators whose meaning depends on their neighbours
	// ($regex and $options, $near and $maxDistance).
	all bson.Raw
}

// Operators is the table of query operators.
// Manual: reference/operator/query.
var Operators = []Operator{
	opAll,
	opAlwaysFalse,
	opAlwaysTrue,
	opAnd,
	opBitsAllClear,
	opBitsAllSet,
	opBitsAnyClear,
	opBitsAnySet,
	opComment,
	opElemMatch,
	opEq,
	opExists,
	opExpr,
	opGeoIntersects,
	opGeoWithin,
	opGt,
	opGte,
	opIn,
	opJSONSchema,
	opLt,
	opLte,
	opMod,
	opNe,
	opNear,
	opNearSphere,
	opNin,
	opNor,
	opNot,
	opOptions,
	opOr,
	opRegex,
	opSampleRate,
	opSize,
	opText,
	opType,
	opWhere,
	opWithin,
}

// find returns the row of the operator with this name, nil if there is none or it is not allowed at the level w.
func (p *parser) find(name string, w Level) *Operator {
	i, ok := slices.BinarySearchFunc(p.operators, name, func(o Operator, n string) int { return strings.Compare(o.Name, n) })
	if !ok || p.operators[i].Where&w == 0 {
		return nil
	}
	return &p.operators[i]
}
