package project

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// parseReplaceRoot reads {newRoot: expression}.
// Manual: reference/operator/aggregation/replaceRoot.
func parseReplaceRoot(env *mql.Env, spec bson.Value) (Transform, error) {
	d, ok := spec.Doc()
	if !ok {
		return nil, mongoerr.New(40229, "expected an object as specification for $replaceRoot stage, got %s", spec.Type)
	}
	var root bson.Value
	for it := d.Iter(); it.Next(); {
		switch {
		case string(it.Name) != "newRoot":
			return nil, mongoerr.UnknownField("$replaceRoot." + string(it.Name))
		case !root.IsMissing():
			return nil, mongoerr.RepeatedField("$replaceRoot.newRoot")
		}
		root = it.Value
	}
	if root.IsMissing() {
		return nil, mongoerr.MissingField("$replaceRoot.newRoot")
	}
	return newReplaceRoot(env, root)
}

func newReplaceRoot(env *mql.Env, v bson.Value) (Transform, error) {
	e, err := expr.Parse(env, v)
	if err != nil {
		return nil, err
	}
	return &replaceRoot{e}, nil
}

// replaceRoot replaces the document by the value of an expression.
type replaceRoot struct{ e expr.Expr }

// Apply implements Transform.
func (t *replaceRoot) Apply(env *mql.Env, dst *bson.Builder, doc bson.Raw, s *expr.Scratch) error {
	v, err := t.e.Eval(env, doc, s)
	if err != nil {
		return err
	}
	d, ok := v.Doc()
	if !ok {
		return mongoerr.New(40228, "'newRoot' expression must evaluate to an object, but resulting value was of type: '%s'", v.Type)
	}
	if err := s.CountExtra(env, dst.Len()+len(d)); err != nil {
		return err
	}
	dst.Splice(d.Elements())
	return nil
}

// Kind implements Transform.
func (t *replaceRoot) Kind() Kind { return Replacement }

// Paths implements Transform.
func (t *replaceRoot) Paths(add func(string)) { t.e.Paths(add) }

// Root returns the path of the field that becomes the document; ok is false for a computed document.
func Root(t Transform) (at string, ok bool) {
	r, ok := t.(*replaceRoot)
	if !ok {
		return "", false
	}
	return expr.FieldPath(r.e)
}

// Keeps implements Transform.
func (t *replaceRoot) Keeps(path.Path) bool { return false }

// Copies implements Transform.
func (t *replaceRoot) Copies(string) (string, bool) { return "", false }

// Expressions implements Transform.
func (t *replaceRoot) Expressions(add func(expr.Expr)) { add(t.e) }

// Append implements Transform.
func (t *replaceRoot) Append(b *bson.Builder) { t.e.Append(b, "newRoot") }
