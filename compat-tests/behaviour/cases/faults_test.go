package cases

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/serve/flags"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/faultkv"
	"github.com/cantledb/cantle/storage/keyspace"
)

// faults are the faults that the stores of the configuration faults inject. The contract of package storage allows
// them, and the server must hide them from its clients.
var faults = []faultkv.Rule{
	// Write conflicts: the server retries statements, and the transactions by which a reshard fills the copy.
	{Op: faultkv.Commit, Key: isRecord, Probability: 0.6, Err: storage.ErrConflict},
	// Changes of the catalog, of users and of settings run one after another, but an engine may still refuse them
	// with a write conflict.
	{Op: faultkv.Commit, Key: isDefinition, Unless: isRecord, Probability: 0.3, Err: storage.ErrConflict},
	// A snapshot that the store no longer has: the server must rebuild it from the change log.
	{Op: faultkv.Snapshot, AtTimestamp: true, Err: storage.ErrSnapshotTooOld},
	// A slow disk, which changes the order of operations.
	{Op: faultkv.Get, Probability: 0.1, Delay: 200 * time.Microsecond},
	{Op: faultkv.Iter, Probability: 0.1, Delay: 200 * time.Microsecond},
	{Op: faultkv.Commit, Probability: 0.05, Delay: time.Millisecond},
}

// least are the numbers of faults of each kind that must occur in all files together, because otherwise the cases
// prove nothing. They are about half of the usual numbers.
var least = []struct {
	calls string
	op    faultkv.Op
	times int
}{
	{"commits", faultkv.Commit, 500}, {"old snapshots", faultkv.Snapshot, 3},
	{"reads of a key", faultkv.Get, 400}, {"iterators", faultkv.Iter, 100},
}

// isRecord reports whether a key is that of a document.
func isRecord(key []byte) bool {
	_, _, _, ok := keyspace.SplitRecord(key)
	return ok
}

// isDefinition reports whether a key is that of a definition.
func isDefinition(key []byte) bool {
	kind, _, ok := keyspace.SplitMeta(key)
	switch kind {
	case keyspace.MetaCollection, keyspace.MetaDatabase, keyspace.MetaUser, keyspace.MetaRole, keyspace.MetaSetting:
		return ok
	}
	return false
}

// faulty starts servers in this process whose stores inject faults, and keeps the stores to count the faults.
type faulty struct {
	mu     sync.Mutex
	stores []*faultkv.Store
}

// launch is the function Launch of the configuration faults. The stores of all servers inject faults at the same
// calls, so a case file meets the same faults whether it runs alone or not.
func (f *faulty) launch(o harness.Options) (*harness.Server, error) {
	return hosted(o, func(s storage.Store) storage.Store {
		store := faultkv.New(s, 1, faults...)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stores = append(f.stores, store)
		return store
	})
}

// hosted starts a server in this process, with the store that wrap returns for the server's own store.
func hosted(o harness.Options, wrap func(storage.Store) storage.Store) (*harness.Server, error) {
	var cfg daemon.Config
	set := flags.New("cantle serve")
	cfg.Flags(set)
	if err := flags.Parse(set, append([]string{"--listen", "127.0.0.1:0", "--memory"}, o.Args...)); err != nil {
		return nil, err
	}
	cfg.Wrap = wrap
	return harness.Hosted(func(out io.Writer) (string, func() error, error) {
		d, err := daemon.Start(context.Background(), cfg, out)
		if err != nil {
			return "", nil, err
		}
		return d.URI(), d.Stop, nil
	})
}

// struck fails the test if too few faults have occurred in a run of all case files.
func (f *faulty) struck(t *testing.T) {
	if !all() {
		return
	}
	for _, l := range least {
		n := 0
		for _, s := range f.stores {
			n += s.Applied(l.op)
		}
		if n < l.times {
			t.Errorf("%d %s were struck, want %d at least", n, l.calls, l.times)
		}
	}
}
