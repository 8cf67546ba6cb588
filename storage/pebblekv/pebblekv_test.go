package pebblekv

import (
	"testing"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/storagetest"
)

func openMemory(tb testing.TB) storage.Store { return mustOpen(tb, "", Options{InMemory: true}) }

func openDisk(tb testing.TB) storage.Store { return mustOpen(tb, tb.TempDir(), Options{}) }

func mustOpen(tb testing.TB, dir string, o Options) storage.Store {
	tb.Helper()
	s, err := Open(dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	t.Run("memory", func(t *testing.T) { storagetest.Conformance(t, openMemory) })
	t.Run("disk", func(t *testing.T) { storagetest.Conformance(t, openDisk) })
}

func BenchmarkStore(b *testing.B) { storagetest.Benchmarks(b, openDisk) }
