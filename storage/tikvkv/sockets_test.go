package tikvkv

import (
	"errors"
	"strings"
	"testing"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/storagetest"
	"github.com/cantledb/cantle/storage/tikvkv/tikvfake"
)

// served returns a cluster that is reached over sockets.
func served(tb testing.TB) (*tikvfake.Cluster, Location) {
	tb.Helper()
	c := fake(tb)
	at, stop, err := c.Serve("127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	return c, Location{Addresses: []string{at}, Keyspace: "test"}
}

// The client reaches a simulated cluster over TCP sockets, opened as a server opens its store: Conformance passes, and
// a second server is refused while the first one has the store.
func TestOverSockets(t *testing.T) {
	storagetest.Conformance(t, func(tb testing.TB) storage.Store {
		_, at := served(tb)
		s, err := Open(tb.Context(), at, forConformance)
		if err != nil {
			tb.Fatal(err)
		}
		return s
	})
	_, at := served(t)
	s, err := Open(t.Context(), at, Options{ServerName: "the first one"})
	must(t, err)
	if _, err := Open(t.Context(), at, Options{}); !errors.Is(err, storage.ErrLocked) || !strings.Contains(err.Error(), "the first one") {
		t.Errorf("a second store: %v", err)
	}
	must(t, s.Close())
}
