package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// filter holds the scratch memory in which an operator evaluates its filter. If the operator did not set it,
// matches allocates it for the first document.
type filter struct{ scratch *expr.Scratch }

// matches reports whether a document satisfies the filter n. Errors: errors of Node.Matches, such as of an
// expression.
func (f *filter) matches(env *mql.Env, n match.Node, doc bson.Raw) (bool, error) {
	if f.scratch == nil {
		f.scratch = new(expr.Scratch)
	}
	f.scratch.Reset()
	return n.Matches(env, doc, f.scratch)
}

// close frees the scratch memory.
func (f *filter) close() {
	if f.scratch != nil {
		f.scratch.Close()
	}
}
