package exec

import (
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
)

// walk holds the iterator of a scan of records or index entries. The iterator can outlive the command that opened
// it: a later getMore then continues it under its own context.
type walk struct {
	it      storage.Iterator      // nil: no iterator is open
	resumed storage.ContextSetter // the iterator, if it needs the context of each command; else nil
}

// begin opens the iterator.
func (w *walk) begin(env *mql.Env, in storage.Reader, r storage.Range, o storage.IterOptions) (err error) {
	w.it, err = in.Iter(env.Context(), r, o)
	w.resumed, _ = w.it.(storage.ContextSetter)
	return err
}

// under gives the iterator the context of the running command, which ends its reads. It must be called before
// the iterator moves.
func (w *walk) under(env *mql.Env) {
	if w.resumed != nil {
		w.resumed.SetContext(env.Context())
	}
}
