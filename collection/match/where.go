package match

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

var opWhere = Operator{Name: "$where", Where: Top, Parse: parseWhere, Doc: "reference/operator/query/where"}

func parseWhere(p *parser, a operand) (Node, error) {
	if p.nested {
		return nil, badValue("$where can only be applied to the top-level document")
	}
	switch a.value.Type {
	case bson.TypeString, bson.TypeCode:
	default:
		return nil, badValue("$where got bad type")
	}
	if !p.env.JavaScript {
		return nil, badValue("no globalScriptEngine in $where parsing")
	}
	code, err := expr.ScriptSource(a.value)
	if err != nil {
		return nil, err
	}
	script, err := expr.CompileScript(p.env, code)
	if err != nil {
		return nil, err
	}
	if !p.env.Where {
		p.env.Where = true
	}
	return &Where{script}, nil
}

// Where is the filter node of $where: it matches if JavaScript returns a truthy value. The script is an expression or
// a function without arguments, in which the document is bound to this and obj.
type Where struct {
	script *expr.Script
}

// Code returns the source.
func (n *Where) Code() string { return n.script.Source() }

// Matches implements Node. Errors: those of expr.VM.Call, such as 139 JSInterpreterFailure for exceptions of the
// script.
func (n *Where) Matches(env *mql.Env, doc bson.Raw, s *expr.Scratch) (bool, error) {
	vm, err := s.Script(env)
	if err != nil {
		return false, err
	}
	v, err := vm.Call(env, n.script, &s.Arena, doc.Value())
	if err != nil {
		return false, err
	}
	if text, ok := v.Text(); ok {
		return len(text) > 0, nil // in JavaScript an empty string is false
	}
	return v.Truthy() && !isNaN(v), nil
}

// Children implements Node.
func (n *Where) Children() []Node { return nil }

// Append implements Node.
func (n *Where) Append(b *bson.Builder) {
	var arena bson.Arena
	v := arena.String(n.Code())
	v.Type = bson.TypeCode
	b.Value("$where", v)
}

func (n *Where) shape(dst []byte) []byte { return appendName(append(dst, "$where "...), n.Code()) }
