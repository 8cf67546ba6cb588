package storagetest_test

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/faultkv"
	"github.com/cantledb/cantle/storage/memkv"
	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/storage/storagetest"
)

func openMemkv(testing.TB) storage.Store { return memkv.Open(memkv.Options{}) }

func openPebble(tb testing.TB) storage.Store {
	s, err := pebblekv.Open("", pebblekv.Options{InMemory: true})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestFaultyStores runs Nemesis over stores with conflicts, lost answers, refused snapshots and delays, and
// Conformance over the same wrapper without rules.
func TestFaultyStores(t *testing.T) {
	for name, open := range map[string]storagetest.Open{"memkv": openMemkv, "pebblekv": openPebble} {
		t.Run(name, func(t *testing.T) {
			storagetest.Conformance(t, func(tb testing.TB) storage.Store { return faultkv.New(open(tb), 1) })
			for seed := range uint64(3) {
				storagetest.Nemesis(t, func(tb testing.TB) storage.Store {
					f := faultkv.New(open(tb), seed, faultkv.Rule{Op: faultkv.Commit, Skip: 1, Probability: 0.05, Err: storage.ErrConflict},
						faultkv.Rule{Op: faultkv.Commit, Skip: 1, Probability: 0.02, Err: storage.ErrUndetermined, After: true},
						faultkv.Rule{Op: faultkv.Commit, Skip: 1, Probability: 0.02, Err: storage.ErrUndetermined},
						faultkv.OldSnapshot(0.02), faultkv.Rule{Op: faultkv.Get, Probability: 0.01, Delay: time.Microsecond})
					return f
				}, storagetest.NemesisOptions{Unknown: true, Rounds: 100, Seed: seed})
			}
		})
	}
}
