package pebblekv

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// TestGrowingKeysAreWrittenOnce checks that compactions rewrite at most a tenth of documents inserted in the order
// of their keys and of their change log, although each flush also holds a key that other flushes hold.
func TestGrowingKeysAreWrittenOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200 MB into memory")
	}
	opened, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	db := opened.(*store).db
	doc, random := make([]byte, 10<<10), rand.NewChaCha8([32]byte{})
	for n := range 100 {
		txn, err := opened.Begin(t.Context(), storage.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := txn.Set([]byte("m counter"), []byte{byte(n + 1)}); err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			_, _ = random.Read(doc) // incompressible
			if err := txn.Set(fmt.Appendf(nil, "r collection %06d", n*100+i), doc); err != nil {
				t.Fatal(err)
			}
			if err := txn.AppendLog([]byte("changes"), doc); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := txn.Commit(t.Context(), storage.Buffered); err != nil {
			t.Fatal(err)
		}
		if n%16 == 15 {
			if err := db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for db.Metrics().Compact.NumInProgress > 0 {
		runtime.Gosched()
	}
	var flushed, compacted uint64
	for _, l := range db.Metrics().Levels {
		flushed += l.TableBytesFlushed
		compacted += l.TableBytesCompacted
	}
	t.Logf("%d MB flushed, %d MB written by compactions", flushed>>20, compacted>>20)
	if flushed < 100<<20 || compacted > flushed/10 {
		t.Errorf("%d bytes were flushed and %d written by compactions", flushed, compacted)
	}
}
