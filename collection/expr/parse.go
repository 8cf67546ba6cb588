package expr

import (
	"sort"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// depthMax is the maximal depth of expressions.
const depthMax = 200

// parser holds the state of one Parse: the table of operators, and the names of the local variables in scope.
// The slot of a variable is its index in scope, so that a Scratch needs only as many slots as scopes nest.
type parser struct {
	env       *mql.Env
	operators []Operator // a copy of the global, whose rows refer to parse functions
	scope     []string
	depth     int
	lazy      int // > 0 inside operands that may never be evaluated
	scratch   Scratch
	// quantile is ParseQuantile. A direct call would be an initialisation cycle.
	quantile func(env *mql.Env, name string, v bson.Value) (Quantile, error)
}

// parse parses any operand.
func (p *parser) parse(v bson.Value) (Expr, error) {
	if p.depth++; p.depth > depthMax {
		return nil, mongoerr.New(mongoerr.Overflow, "expression nesting exceeds the limit of %d levels", depthMax)
	}
	defer func() { p.depth-- }()
	switch v.Type {
	case bson.TypeString:
		text, _ := v.Str()
		if strings.HasPrefix(text, "$") {
			return p.parseField(text)
		}
		if len(text) >= bson.MaxDocumentBytes {
			return nil, longString("an expression")
		}
	case bson.TypeDocument:
		return p.parseDoc(bson.Raw(v.Data))
	case bson.TypeArray:
		return p.parseArray(bson.Raw(v.Data))
	}
	return Constant(v.Clone()), nil
}

// parseDoc parses an operator or an object whose fields are expressions.
func (p *parser) parseDoc(d bson.Raw) (Expr, error) {
	f, ok := d.First()
	if !ok {
		return Constant(bson.EmptyDoc), nil
	}
	if len(f.Name) == 0 || f.Name[0] != '$' {
		return p.parseObject(d)
	}
	if d.Len() != 1 {
		return nil, mongoerr.New(15983, "an object representing an expression must have exactly one field: %s", names(d))
	}
	name := string(f.Name)
	op := p.find(name)
	if op == nil {
		return nil, mongoerr.New(mongoerr.InvalidPipelineOperator, "Unrecognized expression '%s'", name)
	}
	if err := p.env.Cosmos.Check(cosmos.Expression, name); err != nil {
		return nil, err
	}
	return op.Parse(p, op, f.Value)
}

// find returns the row of an operator.
func (p *parser) find(name string) *Operator {
	i := sort.Search(len(p.operators), func(i int) bool { return p.operators[i].Name >= name })
	if i < len(p.operators) && p.operators[i].Name == name {
		return &p.operators[i]
	}
	return nil
}

// parseLazy parses an operand that may not be evaluated at all, such as a branch of $cond. Errors of its
// constant parts are left to the evaluation.
func (p *parser) parseLazy(v bson.Value) (Expr, error) {
	p.lazy++
	defer func() { p.lazy-- }()
	return p.parse(v)
}

// parseIn parses an operand in which the local variables vars are in scope, such as the `in` of $let.
func (p *parser) parseIn(v bson.Value, vars ...string) (Expr, error) {
	n := len(p.scope)
	p.scope = append(p.scope, vars...)
	defer func() { p.scope = p.scope[:n] }()
	return p.parse(v)
}

// slot returns the slot of the next local variable.
func (p *parser) slot() int { return len(p.scope) }

// list parses operands: the elements of an array, or a single value.
func (p *parser) list(op *Operator, v bson.Value) ([]Expr, error) {
	var args []Expr
	if a, ok := v.Array(); ok {
		for it := a.Iter(); it.Next(); {
			e, err := p.parse(it.Value)
			if err != nil {
				return nil, err
			}
			args = append(args, e)
		}
	} else {
		e, err := p.parse(v)
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	if n := len(args); n < op.Min || op.Max >= 0 && n > op.Max {
		return nil, op.arity(n)
	}
	return args, nil
}

// arity returns the error for a wrong number of arguments.
func (op *Operator) arity(n int) error {
	switch {
	case op.Max < 0:
		return mongoerr.New(mongoerr.Code(28667), "Expression %s takes at least %d arguments, and %d were passed in.", op.Name, op.Min, n)
	case op.Min == op.Max:
		return mongoerr.New(16020, "Expression %s takes exactly %d arguments. %d were passed in.", op.Name, op.Min, n)
	}
	return mongoerr.New(28667, "Expression %s takes at least %d arguments, and at most %d, but %d were passed in.", op.Name, op.Min, op.Max, n)
}

// late reports whether errors of constants are left to the evaluation: in operands that may never be evaluated, and under
// Env.LateConstants.
func (p *parser) late() bool { return p.lazy > 0 || p.env.LateConstants }

// fold returns e, or its value as a constant if all its arguments are constants. An error of the value is that of the
// document that meets it if late is true.
func (p *parser) fold(e Expr) (Expr, error) {
	constant := true
	e.(parent).children(func(c Expr) {
		if _, ok := IsConstant(c); !ok {
			constant = false
		}
	})
	if !constant {
		return e, nil
	}
	p.scratch.Reset()
	v, err := e.Eval(p.env, bson.Empty, &p.scratch)
	if err != nil {
		if p.late() {
			return e, nil
		}
		return nil, err
	}
	return p.folded(e, v)
}

// folded returns the constant for the value v of an operator with constant arguments. A constant of foldedBytes or
// more counts in the command's memory until the command ends, because a short operator can make a long value. Array
// and object literals count only their arguments, as they are as long as their text.
//
// Errors: ExceededMemoryLimit.
func (p *parser) folded(e Expr, v bson.Value) (Expr, error) {
	was := 0 // counted for the arguments, which are not needed any more
	e.(parent).children(func(arg Expr) {
		if c, ok := arg.(*constant); ok {
			was += c.counted
		}
	})
	c := &constant{v: v, counted: len(v.Data)}
	switch e.(type) {
	case *array, *object:
		c.counted = was
	}
	if c.counted < foldedBytes {
		c.counted = 0
	}
	if more := c.counted - was; more > 0 {
		if err := p.env.Memory.GrowValues(more, "a constant expression"); err != nil {
			return nil, err
		}
	} else if more < 0 {
		p.env.Memory.ShrinkValues(-more)
	}
	c.v = v.Clone()
	return c, nil
}

// foldedBytes is the size in bytes from which on a folded constant counts in the command's memory.
const foldedBytes = 256

// names returns the field names of a document for messages.
func names(d bson.Raw) string {
	var b strings.Builder
	b.WriteString("{ ")
	i := 0
	for name := range d.Fields() {
		if i++; i > 1 {
			b.WriteString(", ")
		}
		b.Write(name)
		b.WriteString(": …")
	}
	b.WriteString(" }")
	return b.String()
}
