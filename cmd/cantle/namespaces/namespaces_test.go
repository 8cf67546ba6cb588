package namespaces

import "testing"

func TestNamespaces(t *testing.T) {
	var n Chosen
	for _, p := range []string{"shop.*", "a.b\\*"} {
		if err := Pattern(&n.Include)(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := Pattern(&n.Exclude)("*.tmp*"); err != nil {
		t.Fatal(err)
	}
	for ns, want := range map[string]bool{"shop.orders": true, "shopping.x": false, "shop.tmp1": false, "a.b*": true, "a.bc": false} {
		if n.Holds(ns) != want {
			t.Errorf("%s: %v", ns, !want)
		}
	}
	for _, c := range []struct{ from, to, ns, want string }{
		{"test.*", "sales.*", "test.a.b", "sales.a.b"},
		{"data.$customer$_$set$", "$customer$.$set$", "data.ann_orders", "ann.orders"},
		{"*.*", "$$", "", ""},
		{"*.x*", "copy_*.*", "db.xyz", "copy_db.yz"},
		{"a.b", "c.d", "a.bb", ""},
		{"a.*", "b.*.*", "", ""},
		{"a.$x", "b", "", ""},
	} {
		r, err := New(c.from, c.to)
		if err != nil {
			if c.ns != "" {
				t.Errorf("%s to %s: %v", c.from, c.to, err)
			}
			continue
		}
		if c.ns == "" {
			t.Errorf("%s to %s is taken", c.from, c.to)
			continue
		}
		if got, ok := r.Apply(c.ns); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s by %s to %s is %s", c.ns, c.from, c.to, got)
		}
	}
}
