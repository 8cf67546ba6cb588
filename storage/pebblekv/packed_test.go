package pebblekv

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// TestLogIsPacked checks that tables of the change log are compressed when they are flushed, because they are not
// rewritten, and that tables which compactions rewrite anyway are not. All records read back as written.
func TestLogIsPacked(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{ReserveBytes: -1}).(*store)
	defer s.Close()
	value := bytes.Repeat([]byte("a document of which half can be packed, "), 50)
	const records = 1000
	for i := range records {
		err := storage.Update(t.Context(), s, storage.TxnOptions{}, storage.Buffered, func(t storage.Txn) error {
			if err := t.Set(fmt.Appendf(nil, "r%06d", i), value); err != nil {
				return err
			}
			return t.AppendLog([]byte("changes"), value)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	raw := uint64(records * len(value))
	if n := s.Metrics().LogBytes; n == 0 || n > raw/4 {
		t.Errorf("the log of %d bytes takes %d", raw, n)
	}
	levels, err := s.db.SSTables(pebble.WithKeyRangeFilter([]byte("r"), []byte("s")))
	if err != nil {
		t.Fatal(err)
	}
	if len(levels[0]) == 0 || levels[0][0].Size < raw*9/10 {
		t.Errorf("values of %d bytes were packed by a flush: %v", raw, levels[0])
	}
	read := 0
	_, err = s.ReadLog(t.Context(), []byte("changes"), 0, func(_, _ storage.Timestamp, rec []byte) bool {
		if bytes.Equal(rec, value) {
			read++
		}
		return true
	})
	if err != nil || read != records {
		t.Errorf("%d records of %d are as they were, %v", read, records, err)
	}
}
