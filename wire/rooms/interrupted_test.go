package rooms

import (
	"context"
	"testing"

	"github.com/cantledb/cantle/wire"
)

// TestInterruptedSaysWhy: a command that ends because its client has gone says so, be it a
// read or a write.
func TestInterruptedSaysWhy(t *testing.T) {
	w := newWorld(t, nil)
	w.dial().ok(`{insert: "c", documents: [{_id: 1}, {_id: 2}]}`)
	for _, command := range []string{
		`{find: "c", filter: {a: 1}}`,
		`{insert: "c", documents: [{_id: 3}]}`,
		`{update: "c", updates: [{q: {a: 1}, u: {$set: {b: 1}}, multi: true}]}`,
		`{delete: "c", deletes: [{q: {a: 1}, limit: 0}]}`,
		`{findAndModify: "c", query: {a: 1}, remove: true}`,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(wire.ErrClientGone)
		r, _, err := w.dial().send(ctx, 0, command)
		if err != nil || number(r.Get("code")) != 279 {
			t.Errorf("%s: %v %v", command, r, err)
		}
	}
}
