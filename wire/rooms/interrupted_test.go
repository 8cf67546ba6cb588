package rooms

import (
	"context"
	"testing"

	"github.com/cantledb/cantle/wire"
)

// TestInterruptedGivesReason checks reads and writes whose context has ended because the client disconnected: the error
// of each, and its entry in the profile, contain this reason.
func TestInterruptedGivesReason(t *testing.T) {
	w := newWorld(t, nil)
	w.dial().ok(`{insert: "c", documents: [{_id: 1}, {_id: 2}]}`)
	w.dial().ok(`{profile: 2}`)
	commands := []string{
		`{find: "c", filter: {a: 1}}`,
		`{insert: "c", documents: [{_id: 3}]}`,
		`{update: "c", updates: [{q: {a: 1}, u: {$set: {b: 1}}, multi: true}]}`,
		`{delete: "c", deletes: [{q: {a: 1}, limit: 0}]}`,
		`{findAndModify: "c", query: {a: 1}, remove: true}`,
		`{validate: "c"}`,
		`{dbHash: 1}`,
	}
	for _, command := range commands {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(wire.ErrClientGone)
		r, _, err := w.dial().send(ctx, 0, command)
		if err != nil || number(r.Get("code")) != 279 {
			t.Errorf("%s: %v %v", command, r, err)
		}
	}
	w.dial().ok(`{profile: 0}`)
	r := w.dial().ok(`{count: "system.profile", query: {errCode: 279, errName: "ClientDisconnect"}}`)
	if n := number(r.Get("n")); n != int64(len(commands)) {
		t.Errorf("%d commands of %d are in the profile with their reason", n, len(commands))
	}
}
