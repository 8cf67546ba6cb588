package release_test

import (
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/release"
)

// TestOffers requires that every release that servers can report is parsed by its name, and has the versions that
// drivers expect.
func TestOffers(t *testing.T) {
	for _, x := range []struct {
		name, version, lower string
		wire                 int32
	}{
		{"7.0", "7.0.0", "6.0", 21},
		{"8.0", "8.0.0", "7.0", 25},
		{"8.3", "8.3.0", "8.0 8.2", 28},
		{"9.0", "9.0.0", "8.0 8.3", 29},
	} {
		r, err := release.Parse(x.name)
		if err != nil {
			t.Fatal(err)
		}
		if r.String() != x.name || r.Version() != x.version || strings.Join(r.LowerFeatures(), " ") != x.lower || r.MaxWireVersion() != x.wire {
			t.Errorf("%s: %s, %s, %s, %d", x.name, r, r.Version(), r.LowerFeatures(), r.MaxWireVersion())
		}
		if v := r.VersionArray(); int32(x.name[0]-'0') != v[0] || int32(x.name[2]-'0') != v[1] {
			t.Errorf("%s: %v", x.name, v)
		}
	}
	for _, s := range []string{"", "8", "6.0", "8.1", "8.0.0", "10.0"} {
		if _, err := release.Parse(s); err == nil || !strings.Contains(err.Error(), "7.0, 8.0, 8.3 or 9.0") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// TestOrder requires that the releases between those which servers can report also have names and an order, and that
// the zero value is the default.
func TestOrder(t *testing.T) {
	all := []release.Release{release.V7_0, release.V7_1, release.V7_2, release.V7_3, release.V8_0, release.V8_1, release.V8_2, release.V8_3, release.V9_0}
	names := strings.Fields("7.0 7.1 7.2 7.3 8.0 8.1 8.2 8.3 9.0")
	for i, r := range all {
		if r.String() != names[i] || i > 0 && r <= all[i-1] {
			t.Errorf("%s is %d, want %s", r, r, names[i])
		}
	}
	var zero release.Release
	if zero != release.Default || zero.String() != "8.0" {
		t.Errorf("zero is %s", zero)
	}
}

// TestBehaviours requires that each row of the table Behaviours is complete, and that Has reports it from its release
// on and not before.
func TestBehaviours(t *testing.T) {
	for i, b := range release.Behaviours {
		if !strings.HasSuffix(b.Says, ".") || b.Source == "" {
			t.Errorf("row %d is not whole: %+v", i, b)
		}
		if b.Since <= release.V7_0 {
			t.Errorf("row %d holds in every release: %+v", i, b)
		}
		if old := b.Since - 1; old.Has(release.Behaviour(i)) || !b.Since.Has(release.Behaviour(i)) {
			t.Errorf("row %d does not begin with %s", i, b.Since)
		}
	}
}
