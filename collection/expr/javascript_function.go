package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// functionCall is $function.
type functionCall struct {
	script *Script
	args   []Expr
	list   Expr // args as one expression, if it is not an array literal
}

func parseFunction(p *parser, op *Operator, v bson.Value) (Expr, error) {
	d, ok := v.Doc()
	if !ok {
		return nil, mongoerr.New(4660800, "The $function operator requires an object.")
	}
	var body, args, lang bson.Value
	for it := d.Iter(); it.Next(); {
		switch string(it.Name) {
		case "body":
			body = it.Value
		case "args":
			args = it.Value
		case "lang":
			lang = it.Value
		default:
			return nil, mongoerr.New(mongoerr.BadValue, "Unrecognized argument to $function: %s", it.Name)
		}
	}
	if !p.env.JavaScript {
		return nil, mongoerr.New(31264, "$function is not allowed: JavaScript is disabled on this server")
	}
	switch {
	case body.IsMissing():
		return nil, mongoerr.New(4660803, "The body function must be specified.")
	case args.IsMissing():
		return nil, mongoerr.New(4660804, "The args field must be specified.")
	case lang.IsMissing():
		return nil, mongoerr.New(4660805, "The lang field must be specified.")
	}
	if l, ok := lang.Str(); !ok || l != "js" {
		return nil, mongoerr.New(4660806, "Currently, $function only supports JavaScript; lang must be 'js'")
	}
	source, err := ScriptSource(body)
	if err != nil {
		return nil, mongoerr.New(4660803, "The body function must evaluate to type string or code")
	}
	e := &functionCall{}
	if e.script, err = CompileScript(p.env, source); err != nil {
		return nil, err
	}
	if a, ok := args.Array(); ok {
		for v := range a.Values() {
			arg, err := p.parse(v)
			if err != nil {
				return nil, err
			}
			e.args = append(e.args, arg)
		}
		return e, nil
	}
	e.list, err = p.parse(args)
	return e, err
}

// ScriptSource returns the source text of a JavaScript function that is given as a string or as code. Code with
// a scope, even an empty one, is an error.
// Manual: reference/operator/query/where, reference/command/mapReduce.
//
// Errors: BadValue for another type.
func ScriptSource(v bson.Value) (string, error) {
	if c, ok := v.Code(); ok {
		return c, nil
	}
	if t, ok := v.Str(); ok {
		return t, nil
	}
	return "", mongoerr.New(mongoerr.BadValue, "a function must be a string or code, not %s", v.Type)
}

// Eval calls the function. It is not folded with constant arguments, because the function may return a
// different result each time.
//
// Errors: 4649200 beside $where; those of the arguments and of VM.Call.
func (e *functionCall) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	if env.Where {
		return bson.Value{}, mongoerr.New(4649200, "A single operation cannot use both JavaScript aggregation expressions and $where.")
	}
	var args []bson.Value
	for _, a := range e.args {
		v, err := a.Eval(env, doc, s)
		if err != nil {
			return v, err
		}
		args = append(args, v)
	}
	if e.list != nil {
		v, err := e.list.Eval(env, doc, s)
		if err != nil {
			return v, err
		}
		a, ok := v.Array()
		if !ok {
			return v, mongoerr.New(4660810, "The args field must be of type array")
		}
		for v := range a.Values() {
			args = append(args, v)
		}
	}
	vm, err := s.Script(env)
	if err != nil {
		return bson.Value{}, err
	}
	v, err := vm.Call(env, e.script, &s.Arena, bson.Value{}, args...)
	if err == nil {
		err = s.counts(env)
	}
	return v, err
}

// Script returns the JavaScript VM of the Scratch, which it creates on first use.
func (s *Scratch) Script(env *mql.Env) (*VM, error) {
	if s.vm == nil {
		vm, err := NewVM()
		if err != nil {
			return nil, err
		}
		if err := vm.serve(env); err != nil {
			return nil, err
		}
		s.vm = vm
	}
	return s.vm, nil
}

func (e *functionCall) children(add func(Expr)) {
	for _, a := range e.args {
		add(a)
	}
	if e.list != nil {
		add(e.list)
	}
}

func (e *functionCall) Paths(add func(string)) { pathsOf(e, add) }

func (e *functionCall) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc("$function")
	b.String("body", e.script.source)
	if e.list != nil {
		e.list.Append(b, "args")
	} else {
		(&array{e.args}).Append(b, "args")
	}
	b.String("lang", "js")
	b.End()
	b.End()
}
