package expr

import (
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// function computes an operator from its evaluated arguments. The arguments and the result may alias documents
// and the arena of s.
type function func(env *mql.Env, s *Scratch, a []bson.Value) (bson.Value, error)

// call is an operator that evaluates all its arguments.
type call struct {
	name string
	fn   function
	args []Expr
	flat bool // printed without an array around a single argument
}

// positional returns the parse function of an operator with a list of arguments, {$op: [a, b, …]}, whose result
// fn computes.
func positional(fn function) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		args, err := p.list(op, v)
		if err != nil {
			return nil, err
		}
		return p.fold(&call{name: op.Name, fn: fn, args: args})
	}
}

// commutative is positional for operators whose operands may be reordered. It moves constant arguments behind
// the others, so that errors of values in documents come first, as in MongoDB.
func commutative(fn function) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		args, err := p.list(op, v)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(args, func(x, y Expr) int {
			_, c := IsConstant(x)
			_, d := IsConstant(y)
			switch {
			case c == d:
				return 0
			case c:
				return 1
			}
			return -1
		})
		return p.fold(&call{name: op.Name, fn: fn, args: args})
	}
}

func (c *call) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	base := len(s.stack)
	for _, e := range c.args {
		v, err := e.Eval(env, doc, s)
		if err != nil {
			s.stack = s.stack[:base]
			return v, err
		}
		s.stack = append(s.stack, v)
	}
	if err := spend(env, s.stack[base:]); err != nil {
		s.stack = s.stack[:base]
		return bson.Null, err
	}
	v, err := c.fn(env, s, s.stack[base:])
	s.stack = s.stack[:base]
	if err == nil && s.due() {
		err = s.counts(env)
	}
	return v, err
}

// spentBytes is the total length of a call's arguments, in bytes, from which on they count for the interrupt
// checks of the command.
const spentBytes = 512

// spend counts the bytes that the call of an operator examines, so that few calls on large values are
// interrupted as quickly as many calls on small ones.
// Errors: the reason why the command must end.
func spend(env *mql.Env, args []bson.Value) error {
	n := 0
	for i := range args {
		n += len(args[i].Data)
	}
	if n < spentBytes {
		return nil
	}
	return env.Spend(n)
}

func (c *call) children(add func(Expr)) {
	for _, e := range c.args {
		add(e)
	}
}

func (c *call) Paths(add func(string)) { pathsOf(c, add) }

func (c *call) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	if c.flat {
		c.args[0].Append(b, c.name)
	} else {
		b.BeginArray(c.name)
		for _, e := range c.args {
			e.Append(b, "")
		}
		b.End()
	}
	b.End()
}

// field is one named argument of an operator.
type field struct {
	name string
	// missing is the error code for an absent argument; 0 if the argument is optional.
	missing mongoerr.Code
	// missingText overrides the usual message.
	missingText string
}

// signature describes the named arguments of an operator: their names, and the error codes for a missing one
// (fields), for an operand that is no object, and for an unknown name.
type signature struct {
	fields    []field
	notObject mongoerr.Code
	unknown   mongoerr.Code
	// check validates constant arguments at parse time; args[i] is nil if absent.
	check func(p *parser, args []Expr) error
}

// given is the set of present named arguments, as bits by position.
type given uint32

func (g given) has(i int) bool { return g&(1<<i) != 0 }

// namedFunction computes an operator from its named arguments, which are in the order of its signature. g
// distinguishes an absent argument from an argument whose value is missing.
type namedFunction func(env *mql.Env, s *Scratch, a []bson.Value, g given) (bson.Value, error)

// namedCall is an operator with named arguments that evaluates all of them.
type namedCall struct {
	name string
	sig  *signature
	fn   namedFunction
	args []Expr // nil: absent
	g    given
}

// named returns the parse function of an operator with named arguments, {$op: {name: arg, …}}, whose result fn
// computes.
func named(sig *signature, fn namedFunction) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		args, err := p.namedArgs(op, sig, v)
		if err != nil {
			return nil, err
		}
		if sig.check != nil {
			if err := sig.check(p, args); err != nil {
				return nil, err
			}
		}
		c := &namedCall{name: op.Name, sig: sig, fn: fn, args: args}
		for i, e := range args {
			if e != nil {
				c.g |= 1 << i
			}
		}
		return p.fold(c)
	}
}

// namedArgs parses the arguments {name: arg, …} and returns them in the order of sig.
func (p *parser) namedArgs(op *Operator, sig *signature, v bson.Value) ([]Expr, error) {
	raw, err := p.namedValues(op, sig, v)
	if err != nil {
		return nil, err
	}
	args := make([]Expr, len(raw))
	for i, v := range raw {
		if v.IsMissing() {
			continue
		}
		if args[i], err = p.parse(v); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// namedValues validates the form {name: arg, …} and returns the unparsed arguments in the order of sig; an
// absent one is missing.
func (p *parser) namedValues(op *Operator, sig *signature, v bson.Value) ([]bson.Value, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.New(sig.notObject, "%s requires an object as an argument, found: %s", op.Name, v.Type)
	}
	raw := make([]bson.Value, len(sig.fields))
next:
	for it := d.Iter(); it.Next(); {
		for i := range sig.fields {
			if string(it.Name) == sig.fields[i].name {
				raw[i] = it.Value
				continue next
			}
		}
		return nil, mongoerr.New(sig.unknown, "%s found an unknown argument: %s", op.Name, it.Name)
	}
	for i, f := range sig.fields {
		if raw[i].IsMissing() && f.missing != 0 {
			if f.missingText != "" {
				return nil, mongoerr.New(f.missing, "%s", f.missingText)
			}
			return nil, mongoerr.New(f.missing, "Missing '%s' parameter to %s", f.name, op.Name)
		}
	}
	return raw, nil
}

func (c *namedCall) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	base := len(s.stack)
	for _, e := range c.args {
		var v bson.Value
		if e != nil {
			var err error
			if v, err = e.Eval(env, doc, s); err != nil {
				s.stack = s.stack[:base]
				return v, err
			}
		}
		s.stack = append(s.stack, v)
	}
	if err := spend(env, s.stack[base:]); err != nil {
		s.stack = s.stack[:base]
		return bson.Null, err
	}
	v, err := c.fn(env, s, s.stack[base:], c.g)
	s.stack = s.stack[:base]
	if err == nil && s.due() {
		err = s.counts(env)
	}
	return v, err
}

func (c *namedCall) children(add func(Expr)) {
	for _, e := range c.args {
		if e != nil {
			add(e)
		}
	}
}

func (c *namedCall) Paths(add func(string)) { pathsOf(c, add) }

func (c *namedCall) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(c.name)
	for i, e := range c.args {
		if e != nil {
			e.Append(b, c.sig.fields[i].name)
		}
	}
	b.End()
	b.End()
}
