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
	// idle is the iterator of a range that has been left, which begin can move to the next range; nil if there is none.
	idle storage.RangeSetter
}

// begin opens the iterator of a range, or moves the one of the range before to it. All ranges of a walk have the same
// options.
func (w *walk) begin(env *mql.Env, in storage.Reader, r storage.Range, o storage.IterOptions) (err error) {
	if w.idle != nil {
		w.idle.SetRange(r)
		w.it, w.idle = w.idle, nil
		return nil
	}
	w.it, err = in.Iter(env.Context(), r, o)
	w.resumed, _ = w.it.(storage.ContextSetter)
	return err
}

// leave ends the current range. If the iterator can be moved to another range, it stays open for begin.
func (w *walk) leave() {
	if w.it == nil {
		return
	}
	if again, ok := w.it.(storage.RangeSetter); ok {
		w.idle = again
	} else {
		w.it.Close()
	}
	w.it = nil
}

// release closes the iterator.
func (w *walk) release() {
	w.leave()
	if w.idle != nil {
		w.idle.Close()
		w.idle = nil
	}
}

// under gives the iterator the context of the running command, which ends its reads. It must be called before
// the iterator moves.
func (w *walk) under(env *mql.Env) {
	if w.resumed != nil {
		w.resumed.SetContext(env.Context())
	}
}
