package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/wire/mongoerr"
)

var opWhere = Operator{Name: "$where", Where: Top, Parse: parseWhere, Doc: "reference/operator/query/where"}

func parseWhere(p *parser, a operand) (Node, error) {
	if p.nested {
		return nil, badValue("$where can only be applied to the top-level document")
	}
	var code string
	switch a.value.Type {
	case bson.TypeString:
		code, _ = a.value.Str()
	case bson.TypeCode:
		code, _ = a.value.Code()
	case bson.TypeCodeScope:
		code, _, _ = a.value.CodeScope()
	default:
		return nil, badValue("$where got bad type")
	}
	if !p.env.JavaScript {
		return nil, badValue("no globalScriptEngine in $where parsing")
	}
	return &Where{code}, nil
}

// Where matches when JavaScript says so.
type Where struct{ code string }

// Code is the source: an expression or a function without arguments, in which
// this is the document.
func (n *Where) Code() string { return n.code }

// Matches see Node.
func (n *Where) Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	return false, mongoerr.NotImplementedYet("$where")
}

// Children see Node.
func (n *Where) Children() []Node { return nil }

// Append see Node.
func (n *Where) Append(b *bson.Builder) {
	var arena bson.Arena
	v := arena.String(n.code)
	v.Type = bson.TypeCode
	b.Value("$where", v)
}

func (n *Where) shape(dst []byte) []byte { return appendName(append(dst, "$where "...), n.code) }
