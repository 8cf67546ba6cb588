package expr

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// ejsonCall is $serializeEJSON or $deserializeEJSON: it converts BSON values to documents of Extended JSON,
// which name the types of the values, or back. Spec: extended-json.
type ejsonCall struct {
	name                    string // operator
	input, relaxed, onError Expr   // nil if absent
	// convert returns the result for a value other than null and missing.
	convert func(env *mql.Env, s *Scratch, v bson.Value, relaxed bool) (bson.Value, error)
}

var serializeSignature = &signature{
	fields:    []field{{name: "input", missing: mongoerr.FailedToParse}, {name: "onError"}, {name: "relaxed"}},
	notObject: mongoerr.FailedToParse, unknown: mongoerr.FailedToParse,
}

var deserializeSignature = &signature{
	fields:    []field{{name: "input", missing: mongoerr.FailedToParse}, {name: "onError"}},
	notObject: mongoerr.FailedToParse, unknown: mongoerr.FailedToParse,
}

// parseSerializeEJSON reads $serializeEJSON.
func parseSerializeEJSON(p *parser, op *Operator, v bson.Value) (Expr, error) {
	return p.ejson(op, serializeSignature, v, serializeEJSON)
}

// parseDeserializeEJSON reads $deserializeEJSON.
func parseDeserializeEJSON(p *parser, op *Operator, v bson.Value) (Expr, error) {
	return p.ejson(op, deserializeSignature, v, deserializeEJSON)
}

// ejson reads the arguments of either operator.
func (p *parser) ejson(op *Operator, sig *signature, v bson.Value, convert func(*mql.Env, *Scratch, bson.Value, bool) (bson.Value, error)) (Expr, error) {
	args, err := p.namedArgs(op, sig, v)
	if err != nil {
		return nil, err
	}
	e := &ejsonCall{name: op.Name, input: args[0], onError: args[1], convert: convert}
	if len(args) > 2 {
		e.relaxed = args[2]
	}
	return p.fold(e)
}

func (e *ejsonCall) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := e.input.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	relaxed := false
	if e.relaxed != nil {
		r, err := e.relaxed.Eval(env, doc, s)
		if err != nil {
			return r, err
		}
		if r.Type != bson.TypeBool && !r.IsNullish() {
			return r, mongoerr.New(mongoerr.TypeMismatch, "%s requires that 'relaxed' be a boolean, found: %s", e.name, r.Type)
		}
		relaxed = r.Truthy()
	}
	if v.IsNullish() {
		return bson.Null, nil
	}
	out, err := e.convert(env, s, v, relaxed)
	if err != nil && e.onError != nil && mongoerr.CodeOf(err) == mongoerr.ConversionFailure {
		return e.onError.Eval(env, doc, s)
	}
	return out, err
}

func (e *ejsonCall) children(add func(Expr)) {
	for _, c := range [3]Expr{e.input, e.onError, e.relaxed} {
		if c != nil {
			add(c)
		}
	}
}

func (e *ejsonCall) Paths(add func(string)) { pathsOf(e, add) }

func (e *ejsonCall) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(e.name)
	for i, c := range [3]Expr{e.input, e.onError, e.relaxed} {
		if c != nil {
			c.Append(b, serializeSignature.fields[i].name)
		}
	}
	b.End()
	b.End()
}

// ejsonWalk converts a value; the result is built in out.
type ejsonWalk struct {
	env     *mql.Env
	s       *Scratch
	out     *making
	relaxed bool
	what    string // description of the result, for messages
}

// run converts v: it returns the value that the function value appends for v.
func (w *ejsonWalk) run(v bson.Value, value func(name string, v bson.Value, depth int) error) (bson.Value, error) {
	w.out = w.s.newArray()
	if err := value("", v, 0); err != nil {
		w.s.drop(w.out)
		return v, err
	}
	return w.s.endOnly(w.env, w.out)
}

// enter checks the limits of nesting and memory before the value v is appended under name.
func (w *ejsonWalk) enter(name string, v bson.Value, depth int) error {
	if err := w.env.Tick(); err != nil {
		return err
	}
	if depth > bson.MaxDepth {
		return failedEJSON("%s exceeds the limit of %d levels of nesting", w.what, bson.MaxDepth)
	}
	n := len(name) + 6*headBytes
	if v.Type != bson.TypeDocument && v.Type != bson.TypeArray {
		n += 2 * len(v.Data) // at most two digits per byte
	}
	return w.s.room(w.env, w.out, n)
}

// each appends a document or an array whose fields are converted one by one with the function value.
func (w *ejsonWalk) each(name string, v bson.Value, depth int, value func(name string, v bson.Value, depth int) error) error {
	if v.Type == bson.TypeArray {
		w.out.BeginArray(name)
	} else {
		w.out.BeginDoc(name)
	}
	for it := bson.Raw(v.Data).Iter(); it.Next(); {
		field := ""
		if v.Type == bson.TypeDocument {
			field = string(it.Name)
		}
		if err := value(field, it.Value, depth+1); err != nil {
			return err
		}
	}
	w.out.End()
	return nil
}

// failedEJSON returns the error for a value that cannot be converted.
func failedEJSON(format string, args ...any) error {
	return mongoerr.New(mongoerr.ConversionFailure, format, args...)
}
