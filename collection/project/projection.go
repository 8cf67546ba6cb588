package project

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// projection implements every Transform but $replaceRoot and $replaceWith.
type projection struct {
	tree   *tree
	pos    *positional
	source bson.Raw // as given
}

// Apply implements Transform.
func (t *projection) Apply(env *mql.Env, dst *bson.Builder, doc bson.Raw, s *expr.Scratch) error {
	r := run{env: env, s: s, dst: dst, root: doc, pos: t.pos}
	return r.fields(t.tree, doc, t.pos != nil)
}

// Kind implements Transform.
func (t *projection) Kind() Kind { return t.tree.kind }

// Append implements Transform: it prints the projection. A field with a constant value is printed as the constant.
func (t *projection) Append(b *bson.Builder) {
	for it := t.source.Iter(); it.Next(); {
		name := string(it.Name)
		if k := t.tree.find(name); k != nil && k.act == compute {
			if v, ok := expr.IsConstant(k.expr); ok && !v.IsMissing() {
				k.expr.Append(b, name)
				continue
			}
		}
		b.Value(name, it.Value)
	}
}

// Paths implements Transform. An exclusion, an addition and the positional operator read the whole document.
func (t *projection) Paths(add func(string)) {
	if t.tree.kind != Inclusion {
		add("")
		return
	}
	if t.pos != nil {
		add("") // the filter is evaluated again
		return
	}
	t.tree.paths("", add)
}

func (t *tree) paths(prefix string, add func(string)) {
	for i := range t.children {
		k := &t.children[i]
		switch k.act {
		case keep, slice, element:
			add(prefix + k.name)
		case compute:
			k.expr.Paths(add)
			if prefix != "" {
				add(prefix + k.name) // arrays on the path keep their structure
			}
		case descend:
			k.tree.paths(prefix+k.name+".", add)
		}
	}
}

// Expressions implements Transform.
func (t *projection) Expressions(add func(expr.Expr)) { t.tree.expressions(add) }

func (t *tree) expressions(add func(expr.Expr)) {
	for i := range t.children {
		switch k := &t.children[i]; k.act {
		case compute:
			add(k.expr)
		case descend:
			k.tree.expressions(add)
		}
	}
}

// Copies implements Transform. It returns no field below another one, because that may be a field of many elements
// of an array.
func (t *projection) Copies(name string) (string, bool) {
	k := t.tree.find(name)
	if k == nil || k.act != compute || t.pos != nil {
		return "", false
	}
	from, ok := expr.FieldPath(k.expr)
	return from, ok && !strings.Contains(from, ".")
}

// Keeps implements Transform. Elements of arrays may be removed or added below a field for which the projection has
// a subtree, so that positions and, with computed fields, missing values may differ there.
func (t *projection) Keeps(p path.Path) bool {
	kids := t.tree
	for i := range p.Len() {
		if i > 0 && (kids.computes || p.Component(i).Index >= 0) {
			return false
		}
		k := kids.find(p.Name(i))
		switch {
		case k == nil:
			return kids.kind != Inclusion
		case k.positional:
			return false
		case k.act == keep:
			return true
		case k.act != descend:
			return false
		}
		kids = k.tree
	}
	return false
}
