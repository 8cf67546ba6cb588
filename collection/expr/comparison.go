package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mql"
)

// comparison returns the functions of $eq, $ne, $gt, $gte, $lt and $lte. holds is the operator: it maps the
// sign of the comparison to the result.
func comparison(holds func(sign int) bool) function {
	return func(env *mql.Env, _ *Scratch, a []bson.Value) (bson.Value, error) {
		return bson.Bool(holds(bson.Compare(a[0], a[1], env.Order()))), nil
	}
}

// comparing is positional for operators that compare two values. For an account of Azure Cosmos DB, array
// literals are not allowed as operands. Source: Azure Cosmos DB for MongoDB, "feature-support-70".
func comparing(fn function) func(*parser, *Operator, bson.Value) (Expr, error) {
	parse := positional(fn)
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		operands, _ := v.Array()
		for x := range operands.Values() {
			if x.Type != bson.TypeArray {
				continue
			}
			if err := p.env.Cosmos.CheckRule(cosmos.ArrayLiterals); err != nil {
				return nil, err
			}
		}
		return parse(p, op, v)
	}
}

// compareValues is $cmp.
func compareValues(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error) {
	return s.Int32(int32(bson.Compare(a[0], a[1], env.Order()))), nil
}

func isEq(sign int) bool  { return sign == 0 }
func isNe(sign int) bool  { return sign != 0 }
func isGt(sign int) bool  { return sign > 0 }
func isGte(sign int) bool { return sign >= 0 }
func isLt(sign int) bool  { return sign < 0 }
func isLte(sign int) bool { return sign <= 0 }
