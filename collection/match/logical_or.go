package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var opOr = Operator{Name: "$or", Where: Top, Parse: parseOr, Doc: "reference/operator/query/or"}

func parseOr(p *parser, a operand) (Node, error) {
	list, err := p.clauses(a)
	if err != nil {
		return nil, err
	}
	return &Or{list}, nil
}

// Or matches if one of its children matches.
type Or struct{ list []Node }

// Matches implements Node.
func (n *Or) Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	for i, c := range n.list {
		if err := tickClause(env, i); err != nil {
			return false, err
		}
		if ok, err := c.Matches(env, doc, s); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// Children implements Node.
func (n *Or) Children() []Node { return n.list }

// Append implements Node.
func (n *Or) Append(b *bson.Builder) { appendClauses(b, "$or", n.list) }

func (n *Or) shape(dst []byte) []byte { return appendList(dst, "or", n.list) }
