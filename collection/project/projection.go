package project

import (
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// projection is every Transform but $replaceRoot.
type projection struct {
	tree   *tree
	pos    *positional
	source bson.Raw // as it was given
}

// Apply see Transform.
func (t *projection) Apply(env *mql.Env, dst *bson.Builder, doc bson.Raw, s *expr.Scratch) error {
	r := run{env: env, s: s, dst: dst, root: doc, pos: t.pos}
	return r.fields(t.tree, doc, t.pos != nil)
}

// Kind see Transform.
func (t *projection) Kind() Kind { return t.tree.kind }

// Append see Transform. A field that has the same value always is printed as that.
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

// Paths see Transform. What an exclusion or addition reads is the document.
func (t *projection) Paths(add func(string)) {
	if t.tree.kind != Inclusion {
		add("")
		return
	}
	if t.pos != nil {
		add("") // the filter is asked again
		return
	}
	t.tree.paths("", add)
}

func (t *tree) paths(prefix string, add func(string)) {
	for i := range t.kids {
		k := &t.kids[i]
		switch k.act {
		case keep, slice, element:
			add(prefix + k.name)
		case compute:
			k.expr.Paths(add)
			if prefix != "" {
				add(prefix + k.name) // arrays on the way keep their shape
			}
		case descend:
			k.tree.paths(prefix+k.name+".", add)
		}
	}
}

// Expressions see Transform.
func (t *projection) Expressions(add func(expr.Expr)) { t.tree.expressions(add) }

func (t *tree) expressions(add func(expr.Expr)) {
	for i := range t.kids {
		switch k := &t.kids[i]; k.act {
		case compute:
			add(k.expr)
		case descend:
			k.tree.expressions(add)
		}
	}
}

// Copies see Transform. A field below another is left out: it may be that of
// many elements of an array.
func (t *projection) Copies(name string) (string, bool) {
	k := t.tree.find(name)
	if k == nil || k.act != compute || t.pos != nil {
		return "", false
	}
	from, ok := expr.FieldPath(k.expr)
	return from, ok && !strings.Contains(from, ".")
}

// Keeps see Transform. Below a field that is descended into, elements of arrays
// may have gone or come, so that positions and, with computed fields, what is
// missing are not what they were.
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
