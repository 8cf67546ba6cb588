package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// TestCompactInPieces checks that Compact goes through its range in pieces, stops between two pieces if its
// context ends, and frees what was deleted and overwritten, while the other keys of the range stay.
func TestCompactInPieces(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Options{ReserveBytes: -1, MemtableBytes: 256 << 10}).(*store)
	defer s.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	value := make([]byte, 1000)
	const keys = 12000
	key := func(i int) []byte { return fmt.Appendf(nil, "r%06d", i) }
	write := func(change func(t storage.Txn, i int) error) {
		t.Helper()
		for at := 0; at < keys; at += 200 {
			err := storage.Update(t.Context(), s, storage.TxnOptions{}, storage.Buffered, func(t storage.Txn) error {
				for i := at; i < at+200; i++ {
					if err := change(t, i); err != nil {
						return err
					}
				}
				return t.Set(fmt.Appendf(nil, "s%d", at), []byte("other"))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	set := func(t storage.Txn, i int) error {
		for j := range value {
			value[j] = byte(rng.Uint32())
		}
		return t.Set(key(i), value)
	}
	write(set)
	all := storage.Range{Start: []byte("r"), End: []byte("s")}
	live := int64(keys) * 1020
	if _, err := s.Compact(t.Context(), all, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Reclaimable(t.Context(), all, live); err != nil || n > 1<<20 {
		t.Errorf("%d bytes could become free of what is new, %v", n, err)
	}
	write(func(t storage.Txn, i int) error {
		switch i % 3 {
		case 0:
			return t.Delete(key(i))
		case 1:
			return set(t, i)
		}
		return nil
	})
	s.anchor.release()
	estimate, err := s.Reclaimable(t.Context(), all, live*2/3)
	if err != nil || estimate < 4<<20 || estimate > 12<<20 {
		t.Errorf("%d bytes could become free, %v", estimate, err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	pieces := 0
	if _, err := s.Compact(ctx, all, func(int64) {
		if pieces++; pieces == 3 {
			stop(enough)
		}
	}); !errors.Is(err, enough) || pieces != 3 {
		t.Errorf("after %d pieces: %v", pieces, err)
	}
	before, err := s.RangeBytes(t.Context(), all)
	if err != nil || before < 9<<20 {
		t.Fatalf("%d bytes are left after three pieces, %v", before, err)
	}
	told := int64(0)
	pieces = 0
	freed, err := s.Compact(t.Context(), all, func(bytes int64) { told += bytes; pieces++ })
	after, _ := s.RangeBytes(t.Context(), all)
	// Compactions of Pebble's own that end meanwhile free more.
	if err != nil || freed < 1<<20 || pieces < 5 || told < freed || int64(before)-int64(after) < freed {
		t.Errorf("%d bytes became free in %d pieces of %d bytes, %v; %d bytes before, %d after", freed, pieces, told, err, before, after)
	}
	if after > keys*2/3*1100 {
		t.Errorf("%d keys take %d bytes", keys*2/3, after)
	}
	r, err := s.Snapshot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range keys {
		if has, err := r.Has(t.Context(), key(i)); err != nil || has != (i%3 != 0) {
			t.Fatalf("key %d: %v, %v", i, has, err)
		}
	}
}
