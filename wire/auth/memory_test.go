package auth

import (
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage/memkv"
)

// dataOf returns customData of about n bytes.
func dataOf(n int) bson.Raw {
	b := bson.NewBuilder(nil)
	b.String("s", strings.Repeat("x", n-13))
	return b.Doc()
}

// many returns the names of n roles of the database a, to make a user or role whose document is large.
func many(n int) (names []Name) {
	for i := range n {
		names = append(names, Name{fmt.Sprintf("role%d", i), "a"})
	}
	return names
}

func (d *Directory) add(t *testing.T, u *User) error {
	t.Helper()
	return d.Change(t.Context(), func(e *Edit) error { e.PutUser(u); return nil })
}

// The bytes counted for users and roles, in five kinds, are at least those that they hold in memory after a start,
// and are the same after a change as after a start.
func TestMetadataBytes(t *testing.T) {
	one, err := NewCredential(ScramSHA256, "u", "x", false, 5000)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewCredential(ScramSHA1, "u", "x", false, 5000)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func(e *Edit, n Name){
		"plain": func(e *Edit, n Name) {
			e.PutUser(&User{Name: n, Credentials: map[Mechanism]Credential{ScramSHA256: one, ScramSHA1: other}, Roles: many(2)})
		},
		"custom data": func(e *Edit, n Name) { e.PutUser(&User{Name: n, CustomData: dataOf(customDataMax)}) },
		"roles":       func(e *Edit, n Name) { e.PutUser(&User{Name: n, Roles: many(1400)}) },
		"restrictions": func(e *Edit, n Name) {
			var r Restrictions
			for range 1500 {
				r = append(r, Restriction{Client: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}})
			}
			e.PutUser(&User{Name: n, Restrictions: r[:1000]})
		},
		"privileges": func(e *Edit, n Name) {
			var list []Privilege
			for i := range 800 {
				list = append(list, Privilege{Resource: Resource{Kind: OnNamespace, DB: "a", Coll: fmt.Sprint("c", i)}, Actions: MakeActions(Find)})
			}
			e.PutRole(&Role{Name: n, Privileges: list})
		},
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for name, put := range kinds {
		t.Run(name, func(t *testing.T) {
			s := memkv.Open(memkv.Options{})
			defer s.Close()
			d, err := Open(t.Context(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			n := 200
			if name == "plain" {
				n = 2000
			}
			err = d.Change(t.Context(), func(e *Edit) error {
				for i := range n {
					put(e, Name{fmt.Sprint("user", i), "a"})
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			counted := d.memoryUse.all
			*d = Directory{}
			before := heap()
			again, err := Open(t.Context(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			held := heap() - before
			t.Logf("%d bytes each, counted for %d", held/int64(n), counted/int64(n))
			if held > counted {
				t.Errorf("%d entries hold %d bytes, and are counted for %d", n, held, counted)
			}
			if again.memoryUse.all != counted {
				t.Errorf("after a start %d bytes are counted, before %d", again.memoryUse.all, counted)
			}
		})
	}
}

// A user or role has a limit in bytes, and so have all those of one database, so that there is room for other
// databases. Entries that already exceed a limit stay, and may shrink.
func TestMetadataIsBounded(t *testing.T) {
	s := memkv.Open(memkv.Options{})
	defer s.Close()
	m := ratelimit.NewMemory(6 << 20)
	d, err := Open(t.Context(), s, m)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.add(t, &User{Name: Name{"u", "a"}, CustomData: dataOf(customDataMax + 1)}); mongoerr.CodeOf(err) != mongoerr.BSONObjectTooLarge {
		t.Error(err)
	}
	if err := d.add(t, &User{Name: Name{"u", "a"}, Roles: many(2000)}); mongoerr.CodeOf(err) != mongoerr.BSONObjectTooLarge {
		t.Error(err)
	}
	n := 0
	for ; err == nil; n++ {
		err = d.add(t, &User{Name: Name{fmt.Sprint("u", n), "a"}, CustomData: dataOf(customDataMax)})
	}
	if used := m.Stats().Used; mongoerr.CodeOf(err) != mongoerr.OperationFailed || used < 3<<20 || used > 4<<20 {
		t.Fatalf("%d users hold %d bytes: %v", n, used, err)
	}
	if err := d.add(t, &User{Name: Name{"u", "b"}, CustomData: dataOf(customDataMax)}); err != nil {
		t.Error("another database:", err)
	}
	if err := d.add(t, &User{Name: Name{"u0", "a"}, CustomData: dataOf(100)}); err != nil {
		t.Error("one that shrinks:", err)
	}
	if err := d.add(t, &User{Name: Name{"more", "a"}, CustomData: dataOf(1000)}); err != nil {
		t.Error("one for which there is room again:", err)
	}

	less := ratelimit.NewMemory(1 << 20)
	if d, err = Open(t.Context(), s, less); err != nil {
		t.Fatal(err)
	}
	if used := less.Stats().Used; used != m.Stats().Used {
		t.Errorf("%d bytes are counted after a start, before %d", used, m.Stats().Used)
	}
	if err := d.add(t, &User{Name: Name{"another", "b"}}); mongoerr.CodeOf(err) != mongoerr.OperationFailed {
		t.Error("where there is too much already:", err)
	}
	err = d.Change(t.Context(), func(e *Edit) error {
		for _, u := range d.Users("a") {
			e.DropUser(u.Name)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := d.add(t, &User{Name: Name{"another", "b"}}); err != nil {
		t.Error(err)
	}
}
