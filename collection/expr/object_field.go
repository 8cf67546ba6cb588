package expr

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// getField is $getField: it returns a field by its exact name, which may contain dots and dollars.
type getField struct{ field, input Expr }

var getFieldSignature = &signature{
	fields: []field{{name: "field", missing: 3041702}, {name: "input", missing: 3041703}}, unknown: 3041701,
}

func parseGetField(p *parser, op *Operator, v bson.Value) (Expr, error) {
	e := &getField{input: p.variable("CURRENT")}
	e.input.(*fieldPath).text = "$$CURRENT"
	var err error
	d, ok := v.Doc()
	if f, some := d.First(); !ok || some && len(f.Name) > 0 && f.Name[0] == '$' {
		if e.field, err = p.parse(v); err != nil {
			return nil, err
		}
	} else {
		args, err := p.namedArgs(op, getFieldSignature, v)
		if err != nil {
			return nil, err
		}
		e.field, e.input = args[0], args[1]
	}
	if c, ok := IsConstant(e.field); ok && c.Type != bson.TypeString {
		return nil, notFieldName(c)
	}
	return p.fold(e)
}

func notFieldName(v bson.Value) error {
	return mongoerr.New(3041704, "$getField requires 'field' to evaluate to type String, but got %s", v.Type)
}

func (e *getField) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	f, err := e.field.Eval(env, doc, s)
	if err != nil {
		return f, err
	}
	if f.Type != bson.TypeString {
		return f, notFieldName(f)
	}
	v, err := e.input.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	if v.IsNullish() && !v.IsMissing() {
		return bson.Null, nil
	}
	d, ok := v.Doc()
	if !ok {
		return bson.Value{}, nil
	}
	name, _ := f.Text()
	for it := d.Iter(); it.Next(); {
		if string(it.Name) == string(name) {
			return it.Value, nil
		}
	}
	return bson.Value{}, nil
}

func (e *getField) children(add func(Expr)) { add(e.field); add(e.input) }

func (e *getField) Paths(add func(string)) {
	f, ok := e.input.(*fieldPath)
	if name, constant := IsConstant(e.field); ok && constant && f.from <= fromRoot && f.path == "" {
		if text, _ := name.Str(); text != "" && strings.IndexByte(text, '.') < 0 {
			add(text)
			return
		}
	}
	pathsOf(e, add)
}

func (e *getField) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc("$getField")
	e.field.Append(b, "field")
	e.input.Append(b, "input")
	b.End()
	b.End()
}

// setField is $setField and, with a nil value, $unsetField.
type setField struct {
	name  string // of the operator
	field string
	input Expr
	value Expr
}

var setFieldSignature = &signature{
	fields:    []field{{name: "field", missing: 4161102}, {name: "value", missing: 4161103}, {name: "input", missing: 4161109}},
	notObject: 4161100, unknown: 4161101,
}

var unsetFieldSignature = &signature{
	fields:    []field{{name: "field", missing: 4161102}, {name: "input", missing: 4161109}},
	notObject: 4161100, unknown: 4161101,
}

func parseSetField(sig *signature) func(*parser, *Operator, bson.Value) (Expr, error) {
	return func(p *parser, op *Operator, v bson.Value) (Expr, error) {
		raw, err := p.namedValues(op, sig, v)
		if err != nil {
			return nil, err
		}
		e := &setField{name: op.Name}
		if e.input, err = p.parse(raw[len(raw)-1]); err != nil {
			return nil, err
		}
		if len(raw) > 2 {
			if e.value, err = p.parse(raw[1]); err != nil {
				return nil, err
			}
		}
		if e.field, err = p.fieldName(op, raw[0]); err != nil {
			return nil, err
		}
		return p.fold(e)
	}
}

// fieldName returns the field name in an argument of $setField or $unsetField: a literal string or a $literal,
// but not an expression that folds to a string.
func (p *parser) fieldName(op *Operator, v bson.Value) (string, error) {
	text, ok := v.Str()
	if ok && strings.HasPrefix(text, "$") {
		return "", mongoerr.New(4161108, "'%s' is a field path reference which is not allowed in this context. Did you mean {$literal: '%s'}?", text, text)
	}
	if d, isDoc := v.Doc(); isDoc && !d.IsEmpty() {
		f, _ := d.First()
		if name := string(f.Name); name != "$literal" && name != "$const" || d.Len() != 1 {
			if _, err := p.parse(v); err != nil {
				return "", err
			}
			return "", mongoerr.New(4161106, "%s requires 'field' to evaluate to a constant", op.Name)
		}
		v = f.Value
	} else if v.Type == bson.TypeArray {
		return "", mongoerr.New(4161106, "%s requires 'field' to evaluate to a constant", op.Name)
	}
	if text, ok = v.Str(); !ok || v.Type != bson.TypeString {
		return "", mongoerr.New(4161107, "%s requires 'field' to evaluate to type String, but got %s", op.Name, v.Type)
	}
	if strings.IndexByte(text, 0) >= 0 {
		return "", mongoerr.New(9534700, "%s requires 'field' to not contain null characters", op.Name)
	}
	return text, nil
}

func (e *setField) Eval(env *mql.Env, doc bson.Raw, s *Scratch) (bson.Value, error) {
	v, err := e.input.Eval(env, doc, s)
	if err != nil {
		return v, err
	}
	var to bson.Value
	if e.value != nil {
		if to, err = e.value.Eval(env, doc, s); err != nil {
			return to, err
		}
	}
	if v.IsNullish() {
		return bson.Null, nil
	}
	d, ok := v.Doc()
	if !ok {
		return v, mongoerr.New(4161105, "%s requires 'input' to evaluate to type Object", e.name)
	}
	if err := env.Spend(len(d)); err != nil {
		return v, err
	}
	b := s.newDoc()
	found := false
	for it := d.Iter(); it.Next(); {
		if string(it.Name) == e.field {
			found = true
			err = s.field(env, b, e.field, to)
		} else {
			err = s.fieldBytes(env, b, it.Name, it.Value)
		}
		if err != nil {
			s.drop(b)
			return v, err
		}
	}
	if !found {
		if err := s.field(env, b, e.field, to); err != nil {
			s.drop(b)
			return v, err
		}
	}
	return s.endDoc(env, b)
}

func (e *setField) children(add func(Expr)) {
	add(e.input)
	if e.value != nil {
		add(e.value)
	}
}

func (e *setField) Paths(add func(string)) { pathsOf(e, add) }

func (e *setField) Append(b *bson.Builder, name string) {
	b.BeginDoc(name)
	b.BeginDoc(e.name)
	b.BeginDoc("field")
	b.String("$const", e.field)
	b.End()
	e.input.Append(b, "input")
	if e.value != nil {
		e.value.Append(b, "value")
	}
	b.End()
	b.End()
}
