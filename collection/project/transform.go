package project

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// Kind is the effect of a Transform on the fields that it does not name: they are dropped, kept or replaced.
type Kind uint8

// The kinds.
const (
	// Inclusion drops them.
	Inclusion Kind = iota
	// Exclusion keeps them; named fields are dropped.
	Exclusion
	// Addition keeps them; named fields are set.
	Addition
	// Replacement makes a new document.
	Replacement
)

// Transform is a parsed projection or stage that makes a document from each document. Immutable, safe for concurrent
// use.
type Transform interface {
	// Apply appends the fields of the result for doc to the document that is open in dst. Only dst is allocated,
	// except by expressions. The caller limits the size of the result; only computed fields enforce DocBytesMax.
	// Errors: the errors of expressions; BSONObjectTooLarge; 51246 and 51247 of the positional operator; 40228 of
	// $replaceRoot.
	Apply(env *mql.Env, dst *bson.Builder, doc bson.Raw, s *expr.Scratch) error
	// Kind returns the effect on fields that are not named.
	Kind() Kind
	// Paths calls add with each path of a document that Apply reads, "" for the whole document.
	Paths(add func(path string))
	// Keeps reports whether a filter on the path p has the same result on a document before and after Apply.
	Keeps(p path.Path) bool
	// Copies returns the name of the input's field whose unchanged value becomes the field name of the result; ok is
	// false if there is none.
	Copies(name string) (from string, ok bool)
	// Expressions calls add with the expressions, which may need metadata.
	Expressions(add func(expr.Expr))
	// Append appends the specification as canonical MQL to an open document.
	Append(b *bson.Builder)
}

// Metas returns the kinds of metadata that the expressions of t read, such as expr.MetaTextScore: a bit for each
// kind.
func Metas(t Transform) (kinds uint32) {
	t.Expressions(func(e expr.Expr) {
		expr.NeedsMeta(e, func(k expr.MetaKind) { kinds |= 1 << k })
	})
	return kinds
}

// IsPositional reports whether t is a projection with the positional operator.
func IsPositional(t Transform) bool {
	p, ok := t.(*projection)
	return ok && p.pos != nil
}

// Doc applies t and returns the result as a new document.
func Doc(env *mql.Env, t Transform, doc bson.Raw, s *expr.Scratch) (bson.Raw, error) {
	b := bson.NewBuilder(nil)
	if err := t.Apply(env, b, doc, s); err != nil {
		return nil, err
	}
	return b.Doc(), nil
}
