package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// Expr is a parsed expression. Immutable, safe for concurrent use.
type Expr interface {
	// Eval returns the expression's value for doc, which is $$CURRENT, and also $$ROOT unless s.Root is set. A
	// missing result is the zero Value. The result may alias doc, s or the expression itself.
	Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error)
	// Paths calls add with the dotted paths that the expression reads in the document; "" means the whole
	// document.
	Paths(add func(path string))
	// Append appends the expression as canonical MQL under name.
	Append(b *bson.Builder, name string)
}

// parent is an Expr with sub-expressions.
type parent interface {
	children(add func(Expr))
}

// Parse parses an expression. It may refer to variables declared in env.Vars. Most operators with only constant
// arguments are evaluated now.
//
// Errors: 168 for an unknown operator, 16020 and 28667 for a wrong number of arguments, 15983 for an operator beside
// other fields, 17276 for an unknown variable, Overflow for deep nesting; errors of the operators.
func Parse(env *mql.Env, v bson.Value) (Expr, error) {
	p := parser{env: env, operators: Operators, quantile: ParseQuantile}
	defer p.scratch.Close()
	return p.parse(v)
}

// Walk calls visit for e and all its sub-expressions, parents first.
func Walk(e Expr, visit func(Expr)) {
	visit(e)
	if p, ok := e.(parent); ok {
		p.children(func(c Expr) { Walk(c, visit) })
	}
}

// pathsOf calls add with the paths of every child.
func pathsOf(p parent, add func(string)) {
	p.children(func(c Expr) { c.Paths(add) })
}
