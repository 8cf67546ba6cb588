package project

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// Kind says what a Transform does with fields it does not name.
type Kind uint8

// The kinds.
const (
	// Inclusion drops them.
	Inclusion Kind = iota
	// Exclusion keeps them; named fields go.
	Exclusion
	// Addition keeps them; named fields are set.
	Addition
	// Replacement makes an unrelated document.
	Replacement
)

// Transform makes a document out of a document. Immutable, safe for concurrent
// use.
type Transform interface {
	// Apply appends the fields of the result to the document that is open in
	// dst. Nothing but dst is allocated, except by expressions. Limits on the
	// size of the result are the caller's. Errors: those of expressions; 51246
	// and 51247 of the positional operator; 40228 of $replaceRoot.
	Apply(env *mql.Env, dst *bson.Builder, doc bson.Raw, s *expr.Scratch) error
	// Kind is what happens to fields that are not named.
	Kind() Kind
	// Paths reports the paths that are read, "" for the whole document.
	Paths(add func(path string))
	// Keeps reports that a filter on p says the same before and after.
	Keeps(p path.Path) bool
	// Copies returns the field of the input that the field name of the result
	// is a copy of.
	Copies(name string) (from string, ok bool)
	// Expressions reports the expressions, for what they need (metadata).
	Expressions(add func(expr.Expr))
	// Append appends the specification as canonical MQL to an open document.
	Append(b *bson.Builder)
}

// Metas are the kinds of metadata that t reads, expr.MetaTextScore and so on, as bits.
func Metas(t Transform) (kinds uint32) {
	t.Expressions(func(e expr.Expr) {
		expr.NeedsMeta(e, func(k expr.MetaKind) { kinds |= 1 << k })
	})
	return kinds
}

// IsPositional reports a projection to the element of an array that made the filter match.
func IsPositional(t Transform) bool {
	p, ok := t.(*projection)
	return ok && p.pos != nil
}

// Doc applies t and returns the result as a document of its own.
func Doc(env *mql.Env, t Transform, doc bson.Raw, s *expr.Scratch) (bson.Raw, error) {
	b := bson.NewBuilder(nil)
	if err := t.Apply(env, b, doc, s); err != nil {
		return nil, err
	}
	return b.Doc(), nil
}
