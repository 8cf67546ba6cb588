package daemon

import (
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/storagetest"
)

// TestEngines runs the tests of the storage contract with every engine of the table, opened with the options of a
// server.
func TestEngines(t *testing.T) {
	if names := engineNames(engines); !slices.IsSorted(names) {
		t.Errorf("the rows are not sorted: %v", names)
	}
	testEngines(t, engines)
}

// testEngines runs the tests of the storage contract.
func testEngines(t *testing.T, list []engine) {
	for _, e := range list {
		t.Run(e.name, func(t *testing.T) {
			storagetest.Conformance(t, func(tb testing.TB) storage.Store {
				divided := newMemoryShares(1<<30, 0)
				s, err := e.open(tb.TempDir(), storeSettings{shares: &divided})
				if err != nil {
					tb.Fatal(err)
				}
				return s
			})
		})
	}
}

func TestEngineOfSettings(t *testing.T) {
	remotes := []Remote{{Scheme: "tikv"}}
	for _, c := range []struct {
		c    Config
		want string // the engine's name, or a part of the error
		flag string
	}{
		{Config{}, "pebble", ""},
		{Config{Storage: "pebble"}, "pebble", ""},
		{Config{Memory: true}, "memory", "--memory"},
		{Config{Storage: "memory"}, "memory", "--storage memory"},
		{Config{Storage: "memory", Memory: true}, "memory", "--memory"},
		{Config{Storage: "pebble", Memory: true}, "give one of them", ""},
		{Config{Storage: "tape"}, `--storage is memory or pebble, not "tape"`, ""},
		{Config{Storage: "tape", Remotes: remotes}, `--storage is memory or pebble or tikv://…, not "tape"`, ""},
		{Config{Storage: "tikv://pd:2379/k"}, `not "tikv://pd:2379/k"`, ""},
		{Config{Storage: "tikv", Remotes: remotes}, `not "tikv"`, ""},
		{Config{Storage: "memory://x"}, `not "memory://x"`, ""},
		{Config{Storage: "tikv://pd:2379/k", Remotes: remotes}, "tikv", "--storage tikv"},
		{Config{Storage: "tikv://pd:2379/k", ReplicaSet: "rs0", Remotes: remotes}, "--replica-set is not for", ""},
	} {
		e, err := c.c.engine()
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && e.name != c.want {
			t.Errorf("%+v: %q, %v", c.c, e.name, err)
		}
		if got := c.c.NeedsNoFolder(); got != c.flag {
			t.Errorf("%+v: %q makes --data useless, want %q", c.c, got, c.flag)
		}
	}
}
