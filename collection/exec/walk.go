package exec

import (
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/storage"
)

// walk is the iterator of a scan, which outlives the command that opened it: it goes on under the context
// of whoever asks for more.
type walk struct {
	it      storage.Iterator // nil: none is open
	resumed storage.Resumed  // it, if it needs to know what it reads for; nil if not
}

// begin opens the iterator.
func (w *walk) begin(env *mql.Env, in storage.Reader, r storage.Range, o storage.IterOptions) (err error) {
	w.it, err = in.Iter(env.Context(), r, o)
	w.resumed, _ = w.it.(storage.Resumed)
	return err
}

// under is to be called before the iterator moves.
func (w *walk) under(env *mql.Env) {
	if w.resumed != nil {
		w.resumed.SetContext(env.Context())
	}
}
