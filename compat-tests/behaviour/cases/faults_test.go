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

// faults are faults that the contract of package storage allows and the server must hide from its clients.
var faults = []faultkv.Rule{
	// The server retries statements, and transactions that fill the copy of a reshard.
	{Op: faultkv.Commit, Key: isRecord, Probability: 0.6, Err: storage.ErrConflict},
	// Changes of the catalog, of users and of settings are serialized, but an engine may refuse them all the
	// same.
	{Op: faultkv.Commit, Key: isDefinition, Unless: isRecord, Probability: 0.3, Err: storage.ErrConflict},
	// A snapshot that is no longer kept is rebuilt from the change log.
	{Op: faultkv.Snapshot, AtTimestamp: true, Err: storage.ErrSnapshotTooOld},
	// A slow disk, which changes the order of operations.
	{Op: faultkv.Get, Probability: 0.1, Delay: 200 * time.Microsecond},
	{Op: faultkv.Iter, Probability: 0.1, Delay: 200 * time.Microsecond},
	{Op: faultkv.Commit, Probability: 0.05, Delay: time.Millisecond},
}

// least are the numbers of faults of each kind that must occur in all files together, so that the cases test
// anything: about half of what usually occur.
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

// faulty starts whole servers in this process, over stores that inject faults.
type faulty struct {
	mu     sync.Mutex
	stores []*faultkv.Store
}

// launch is a harness.Config.Launch. Every server has faults at the same calls, so a file has the same faults
// whether it runs alone or not.
func (f *faulty) launch(o harness.Options) (*harness.Server, error) {
	return hosted(o, func(s storage.Store) storage.Store {
		store := faultkv.New(s, 1, faults...)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stores = append(f.stores, store)
		return store
	})
}

// hosted starts a server in this process, with wrap around its store.
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

// struck fails a run of all files unless enough faults have occurred.
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
