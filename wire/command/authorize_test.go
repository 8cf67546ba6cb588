package command

import (
	"testing"

	"github.com/cantledb/cantle/wire/auth"
)

// authorizing is a call of a find, by a user with a role or by anybody.
func authorizing(tb testing.TB, w *world, role string) *Call {
	c := w.dial()
	p := c.state.(*peer)
	call := &Call{Server: w.Server, Peer: p, Conn: c, Def: w.lookup("find"), DB: "test"}
	call.op.NS.DB, call.op.NS.Coll = "test", "c"
	call.Op.Env = &call.env
	if role != "" {
		w.RequireAuth = true
		call.setLogin(call.newLogin(&auth.User{Name: auth.Name{Name: "u", DB: "test"}, Roles: []auth.Name{{Name: role, DB: "test"}}}, auth.ScramSHA256))
	}
	if err := call.authorize(); err != nil {
		tb.Fatal(err)
	}
	return call
}

// TestAllocsAuthorize: the check in front of every command costs no memory.
func TestAllocsAuthorize(t *testing.T) {
	for _, role := range []string{"", "readWrite"} {
		call := authorizing(t, newWorld(t, nil), role)
		if n := testing.AllocsPerRun(100, func() {
			if err := call.authorize(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("role %q: %v allocations", role, n)
		}
	}
}

func BenchmarkAuthorize(b *testing.B) {
	for _, role := range []string{"", "readWrite"} {
		b.Run("role="+role, func(b *testing.B) {
			call := authorizing(b, newWorld(b, nil), role)
			b.ReportAllocs()
			for b.Loop() {
				if err := call.authorize(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
