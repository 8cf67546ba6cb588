package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var opNor = Operator{Name: "$nor", Where: Top, Parse: parseNor, Doc: "reference/operator/query/nor"}

func parseNor(p *parser, a operand) (Node, error) {
	list, err := p.clauses(a)
	if err != nil {
		return nil, err
	}
	return &Nor{list}, nil
}

// Nor matches if none of its children matches.
type Nor struct{ list []Node }

// Matches implements Node.
func (n *Nor) Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	for i, c := range n.list {
		if err := tickClause(env, i); err != nil {
			return false, err
		}
		if ok, err := c.Matches(env, doc, s); ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Children implements Node.
func (n *Nor) Children() []Node { return n.list }

// Append implements Node.
func (n *Nor) Append(b *bson.Builder) { appendClauses(b, "$nor", n.list) }

func (n *Nor) shape(dst []byte) []byte { return appendList(dst, "nor", n.list) }
