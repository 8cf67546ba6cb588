package disk

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// canary is a planted bug, in the disk or the store under a server, that the test of a scenario must catch.
type canary struct {
	name     string
	scenario string
	under    func(vfs.FS) vfs.FS
	wrap     func(storage.Store) storage.Store
	breaker  *breaker
}

// TestCutCanaries plants bugs by which data are lost when the power fails, and checks that power cuts find each.
func TestCutCanaries(t *testing.T) {
	for _, c := range []canary{
		{name: "the log is not synced", scenario: "insert", under: lazily(".log")},
		{name: "the list of tables is not synced", scenario: "upgrade", under: lazily("MANIFEST")},
		{name: "every fifth index entry is left out of its batch", scenario: "index", wrap: forgetting('i')},
		{name: "half of a transaction is committed", scenario: "transaction", wrap: forgetting('r')},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := ""
			for seed := uint64(1); seed < 4 && found == ""; seed++ {
				cutAll(t, c.find(t), seed, c.under, c.wrap, func(where string, wrong []string) {
					found = where + ": " + wrong[0]
				})
			}
			if found == "" {
				t.Error("nobody noticed")
			}
			t.Logf("%.300s", found)
		})
	}
}

// TestErrorCanaries plants bugs in the handling of errors.
func TestErrorCanaries(t *testing.T) {
	for _, c := range []canary{
		{name: "an error of writing is overheard", scenario: "insert", under: deaf, breaker: &breaker{kind: "write", n: 40, lasting: true, err: syscall.EIO}},
		{name: "what cannot be read is not there", scenario: "drop", wrap: blind, breaker: &breaker{kind: "read", n: 5, lasting: true, err: syscall.EIO}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.find(t))
			for seed := uint64(2); seed < 200; seed += 2 {
				b := &breaker{kind: c.breaker.kind, n: c.breaker.n + int(seed), lasting: c.breaker.lasting, err: c.breaker.err}
				x := r.trial(seed, b)
				x.over, x.wrap = c.under, c.wrap
				x.run()
				if len(x.wrong) > 0 {
					t.Logf("%.300s", x.wrong[0])
					return
				}
			}
			t.Error("nobody noticed")
		})
	}
}

// find returns the scenario of a canary.
func (c *canary) find(t *testing.T) *scenario {
	t.Helper()
	for i := range scenarios {
		if scenarios[i].name == c.scenario {
			return &scenarios[i]
		}
	}
	t.Fatalf("there is no scenario %s", c.scenario)
	return nil
}

// lazily returns a planted bug: a file system that does not sync files whose names contain kind.
func lazily(kind string) func(vfs.FS) vfs.FS {
	return func(files vfs.FS) vfs.FS {
		return changed{files, func(name string, f vfs.File) vfs.File {
			if strings.Contains(name, kind) {
				return lazy{f}
			}
			return f
		}}
	}
}

// changed is a file system in which the function file may wrap each file of Create and OpenReadWrite.
type changed struct {
	vfs.FS
	file func(name string, f vfs.File) vfs.File
}

func (c changed) Create(name string, k vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := c.FS.Create(name, k)
	if err != nil {
		return nil, err
	}
	return c.file(name, f), nil
}

func (c changed) OpenReadWrite(name string, k vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.FS.OpenReadWrite(name, k, o...)
	if err != nil {
		return nil, err
	}
	return c.file(name, f), nil
}

// lazy is a file that is never synced.
type lazy struct{ vfs.File }

func (lazy) Sync() error                { return nil }
func (lazy) SyncData() error            { return nil }
func (lazy) SyncTo(int64) (bool, error) { return true, nil }

// deaf ignores errors of writing and syncing.
func deaf(files vfs.FS) vfs.FS {
	return changed{files, func(_ string, f vfs.File) vfs.File { return deafFile{f} }}
}

type deafFile struct{ vfs.File }

func (d deafFile) Write(p []byte) (int, error) { _, _ = d.File.Write(p); return len(p), nil }
func (d deafFile) Sync() error                 { _ = d.File.Sync(); return nil }
func (d deafFile) SyncData() error             { _ = d.File.SyncData(); return nil }
func (d deafFile) SyncTo(n int64) (bool, error) {
	full, _ := d.File.SyncTo(n)
	return full, nil
}

// forgetting returns a planted bug: a store that omits every fifth write of a key with the first byte kind from
// its transaction.
func forgetting(kind byte) func(storage.Store) storage.Store {
	return func(s storage.Store) storage.Store { return &forgetful{Store: s, kind: kind} }
}

type forgetful struct {
	storage.Store
	kind byte
	n    atomic.Int64
}

func (f *forgetful) Begin(ctx context.Context, o storage.TxnOptions) (storage.Txn, error) {
	tx, err := f.Store.Begin(ctx, o)
	if err != nil {
		return nil, err
	}
	return forgetfulTxn{tx, f}, nil
}

type forgetfulTxn struct {
	storage.Txn
	f *forgetful
}

func (t forgetfulTxn) Set(key, value []byte) error {
	if key[0] == t.f.kind && t.f.n.Add(1)%5 == 0 {
		return nil
	}
	return t.Txn.Set(key, value)
}

// blind is a planted bug: a store whose iterators hide failed reads, so that keys seem to be missing.
func blind(s storage.Store) storage.Store { return blindStore{s} }

type blindStore struct{ storage.Store }

func (b blindStore) Snapshot(ctx context.Context, at storage.Timestamp) (storage.Reader, error) {
	r, err := b.Store.Snapshot(ctx, at)
	if err != nil {
		return nil, err
	}
	return blindReader{r}, nil
}

type blindReader struct{ storage.Reader }

func (b blindReader) Iter(ctx context.Context, r storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	it, err := b.Reader.Iter(ctx, r, o)
	if err != nil {
		return nil, err
	}
	return blindIterator{it}, nil
}

type blindIterator struct{ storage.Iterator }

func (blindIterator) Err() error { return nil }
