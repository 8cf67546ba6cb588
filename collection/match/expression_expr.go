package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var opExpr = Operator{Name: "$expr", Where: Top, Parse: parseExpr, Since: "3.6", Doc: "reference/operator/query/expr"}

func parseExpr(p *parser, a operand) (Node, error) {
	if p.nested {
		return nil, badValue("$expr can only be applied to the top-level document")
	}
	e, err := expr.Parse(p.env, a.value)
	if err != nil {
		return nil, err
	}
	return &Expr{e: e, source: a.value.Clone()}, nil
}

// Expr matches when an aggregation expression is true for the document.
type Expr struct {
	e      expr.Expr
	source bson.Value // the expression as the client wrote it, for errors that quote it; in the node's own memory
}

// OfExpression returns the $expr of a parsed expression.
func OfExpression(e expr.Expr) *Expr {
	b := bson.NewBuilder(nil)
	e.Append(b, "")
	f, _ := b.Doc().First()
	return &Expr{e: e, source: f.Value}
}

// Expression returns the expression.
func (n *Expr) Expression() expr.Expr { return n.e }

// Matches implements Node.
func (n *Expr) Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	v, err := n.e.Eval(env, doc, s)
	return v.Truthy() && err == nil, err
}

// Children implements Node.
func (n *Expr) Children() []Node { return nil }

// Append implements Node.
func (n *Expr) Append(b *bson.Builder) { n.e.Append(b, "$expr") }

// shape keeps the values, because an expression is planned with them.
func (n *Expr) shape(dst []byte) []byte {
	return appendName(append(dst, "$expr "...), string(String(n)))
}
