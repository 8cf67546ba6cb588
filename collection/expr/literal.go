package expr

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// constant is a value known at parse time.
type constant struct {
	v       bson.Value
	counted int // bytes counted in the command's memory, for a folded value
}

// Constant returns an expression for v; the caller must not change its bytes.
func Constant(v bson.Value) Expr { return &constant{v: v} }

// IsConstant returns the value of an expression that does not depend on a
// document.
func IsConstant(e Expr) (bson.Value, bool) {
	if c, ok := e.(*constant); ok {
		return c.v, true
	}
	return bson.Value{}, false
}

func (c *constant) Eval(*mql.Env, bson.Raw, *Scratch) (bson.Value, error) { return c.v, nil }

func (c *constant) Paths(func(string)) {}

func (c *constant) Append(b *bson.Builder, name string) {
	if c.v.IsMissing() {
		b.String(name, "$$REMOVE")
		return
	}
	b.BeginDoc(name)
	b.Value("$const", c.v)
	b.End()
}

// parseLiteral reads {$literal: v}.
func parseLiteral(_ *parser, _ *Operator, v bson.Value) (Expr, error) {
	return Constant(v.Clone()), nil
}

// parseParentheses reads the operand of $expr, which is the expression itself: as an expression, $expr has no effect.
func parseParentheses(p *parser, _ *Operator, v bson.Value) (Expr, error) { return p.parse(v) }

// object is {a: expr, b: expr}. Fields with missing values are left out.
type object struct {
	names []string
	vals  []Expr
	read  *objectFields // nil: each value is evaluated for itself
}

// parseObject reads an object whose fields are expressions.
func (p *parser) parseObject(d bson.Raw) (Expr, error) {
	o := &object{}
	seen := map[string]bool{}
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		switch {
		case name == "":
			return nil, mongoerr.New(15998, "FieldPath field names may not be empty strings.")
		case name[0] == '$':
			return nil, mongoerr.New(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
		case strings.IndexByte(name, '.') >= 0:
			return nil, mongoerr.New(16412, "FieldPath field names may not contain '.'. Consider using $getField or $setField.")
		case seen[name]:
			return nil, mongoerr.New(16406, "duplicate field name specified in object literal: %s", names(d))
		}
		seen[name] = true
		e, err := p.parse(it.Value)
		if err != nil {
			return nil, err
		}
		o.names, o.vals = append(o.names, name), append(o.vals, e)
	}
	o.read = newObjectFields(o.vals)
	return p.fold(o)
}

// ObjectField returns the expression of the field name, if e is an object of expressions with that field.
func ObjectField(e Expr, name string) (Expr, bool) {
	if o, ok := e.(*object); ok {
		if i := slices.Index(o.names, name); i >= 0 {
			return o.vals[i], true
		}
	}
	return nil, false
}

func (o *object) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	base := len(s.stack)
	if o.read != nil {
		if err := o.read.load(env, doc, s); err != nil {
			return bson.Value{}, err
		}
		defer func() { s.stack = s.stack[:base] }()
	}
	b := s.newDoc()
	for i, e := range o.vals {
		v, err := o.read.eval(env, doc, s, base, i, e)
		if err == nil {
			err = s.field(env, b, o.names[i], v)
		}
		if err != nil {
			s.drop(b)
			return v, err
		}
	}
	return s.endDoc(env, b)
}

func (o *object) children(add func(Expr)) {
	for _, e := range o.vals {
		add(e)
	}
}

func (o *object) Paths(add func(string)) { pathsOf(o, add) }

func (o *object) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	for i, e := range o.vals {
		e.Append(b, o.names[i])
	}
	b.End()
}

// array is [expr, expr]: missing values become null.
type array struct{ vals []Expr }

// parseArray reads an array whose elements are expressions.
func (p *parser) parseArray(d bson.Raw) (Expr, error) {
	a := &array{}
	for it := d.Iter(); it.Next(); {
		e, err := p.parse(it.Value)
		if err != nil {
			return nil, err
		}
		a.vals = append(a.vals, e)
	}
	return p.fold(a)
}

func (a *array) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	b := s.newArray()
	for _, e := range a.vals {
		v, err := e.Eval(env, doc, s)
		if err == nil {
			err = s.element(env, b, v)
		}
		if err != nil {
			s.drop(b)
			return v, err
		}
	}
	return s.endArray(env, b)
}

func (a *array) children(add func(Expr)) {
	for _, e := range a.vals {
		add(e)
	}
}

func (a *array) Paths(add func(string)) { pathsOf(a, add) }

func (a *array) Append(b *bson.Builder, name string) {
	b.BeginArray(name)
	for _, e := range a.vals {
		e.Append(b, "")
	}
	b.End()
}
