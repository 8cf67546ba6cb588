package cosmos

import (
	"cmp"
	"slices"
	"testing"
)

// Tables are in alphabetical order, without duplicate names.
func TestTablesInOrder(t *testing.T) {
	for _, k := range Kinds() {
		if k == Rule {
			continue
		}
		rows := k.Rows()
		if !slices.IsSortedFunc(rows, func(a, b Row) int { return cmp.Compare(a.Name, b.Name) }) {
			t.Errorf("the %s are not in order", k)
		}
		for i := 1; i < len(rows); i++ {
			if rows[i].Name == rows[i-1].Name {
				t.Errorf("%s: two rows for %s", k, rows[i].Name)
			}
		}
	}
}

// TestRulesComplete requires that each row of the table rules has a name and an error code.
func TestRulesComplete(t *testing.T) {
	for i, r := range rules {
		if r.Name == "" || r.Code == 0 {
			t.Errorf("rule %d has no name or no code: %+v", i, r)
		}
	}
}

// TestUses requires that an account counts a missing feature once for each command, by application, even when the
// command is refused.
func TestUses(t *testing.T) {
	a := NewAccount()
	c := a.Client()
	for range 3 {
		c.Begin(5, "shop")
		for range 2 {
			if err := c.Check(Stage, "$bucket"); err == nil {
				t.Fatal("$bucket is accepted")
			}
		}
		if err := c.Check(Stage, "$group"); err != nil {
			t.Fatal(err)
		}
	}
	a.Lenient = true
	c.Begin(6, "")
	if err := c.CheckRule(RetryableWrites); err != nil {
		t.Fatal("a lenient account:", err)
	}
	got := a.Uses()
	want := []Use{{Kind: Stage, Name: "$bucket", App: "shop", Count: 3, Last: 5}, {Kind: Rule, Name: "retryable writes", Count: 1, Last: 6}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Versions and capabilities add features.
func TestHas(t *testing.T) {
	for _, c := range []struct {
		version    string
		capability string
		kind       Kind
		name       string
		want       bool
	}{
		{"3.6", "", Stage, "$graphLookup", true},
		{"4.2", "", Stage, "$graphLookup", false},
		{"4.0", "", Stage, "$set", false},
		{"4.2", "", Stage, "$set", true},
		{"7.0", "", Command, "createRole", false},
		{"7.0", "EnableMongo, enablemongoRoleBasedAccessControl", Command, "createRole", true},
	} {
		a := NewAccount()
		var err error
		if a.Version, err = ParseVersion(c.version); err != nil {
			t.Fatal(err)
		}
		if a.Capabilities, err = ParseCapabilities(c.capability); err != nil {
			t.Fatal(err)
		}
		if got := a.Has(c.kind.Find(c.name)); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	if _, err := ParseCapabilities("EnableMongo2"); err == nil {
		t.Error("an unknown capability is accepted")
	}
	if _, err := ParseVersion("4.4"); err == nil {
		t.Error("an unknown version is accepted")
	}
}
