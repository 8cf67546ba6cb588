package pebblekv

import (
	"context"
	"testing"
	"time"

	"github.com/cantledb/cantle/storage"
)

func TestOpenIsQuickInMemory(t *testing.T) {
	start := time.Now()
	s, err := Open("", Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("open: %v", time.Since(start))
	ctx := context.Background()
	tx, err := s.Begin(ctx, storage.TxnOptions{Latch: [][]byte{[]byte("a")}})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := tx.Has(ctx, []byte("a")); ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := tx.Set([]byte("a"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	ts, err := tx.Commit(ctx, storage.Synced)
	if err != nil {
		t.Fatal(err)
	}
	if s.Durable() < ts {
		t.Fatal("not durable")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
