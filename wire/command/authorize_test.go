package command

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/storage/memkv"
	"github.com/cantledb/cantle/wire/auth"
)

// find is a room with the single command find, which needs the action "find".
type find struct{}

func (find) Commands() []Def {
	return []Def{{Name: "find", Action: "find", Namespace: FirstField, Run: func(*Call) error { return nil }}}
}

// connLogin is an Authenticator that returns the login of the connection as it is.
type connLogin struct{ absent }

func (connLogin) Login(c *Call) (*Login, error) { return c.ConnState.Login, nil }

// authorizing returns a call of the command find by a user with the given role; if role is "", access control is off.
// Its first authorization has succeeded.
func authorizing(tb testing.TB, role string) *Call {
	store := memkv.Open(memkv.Options{})
	tb.Cleanup(func() { store.Close() })
	users, err := auth.Open(tb.Context(), store, nil)
	if err != nil {
		tb.Fatal(err)
	}
	s := New(Config{Auth: users, RequireAuth: role != ""})
	s.Add(find{})
	s.Authenticator = connLogin{}
	call := &Call{Server: s, ConnState: &ConnState{}, DB: "test"}
	call.Become(s.Lookup("find"), bson.Empty)
	call.Running.NS.DB, call.Running.NS.Coll = "test", "c"
	call.Op.Env = &call.env
	if role != "" {
		roles := []auth.Name{{Name: role, DB: "test"}}
		list, err := users.Privileges(call.Op.Env, roles)
		if err != nil {
			tb.Fatal(err)
		}
		call.ConnState.Login = &Login{Name: auth.Name{Name: "u", DB: "test"}, Version: users.Version(), Grants: auth.NewGrants(list)}
	}
	if err := call.authorize(); err != nil {
		tb.Fatal(err)
	}
	return call
}

// TestAllocsAuthorize: authorize allocates no memory for a find, neither without access control nor for a user with the
// role readWrite.
func TestAllocsAuthorize(t *testing.T) {
	for _, role := range []string{"", "readWrite"} {
		call := authorizing(t, role)
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
			call := authorizing(b, role)
			b.ReportAllocs()
			for b.Loop() {
				if err := call.authorize(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
