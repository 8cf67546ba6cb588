package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mql"
)

// filter is an operator's memory for its filter, made when the first document is asked unless the operator
// came with it.
type filter struct{ scratch *expr.Scratch }

// matches reports whether a document satisfies a filter. Errors: those of Node.Matches.
func (f *filter) matches(env *mql.Env, n match.Node, doc bson.Raw) (bool, error) {
	if f.scratch == nil {
		f.scratch = new(expr.Scratch)
	}
	f.scratch.Reset()
	return n.Matches(env, doc, f.scratch)
}

// close gives the memory back.
func (f *filter) close() {
	if f.scratch != nil {
		f.scratch.Close()
	}
}
