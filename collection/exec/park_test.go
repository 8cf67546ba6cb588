package exec_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/storage"
)

// openReader counts the iterators that are open. Prefetch opens some on goroutines.
type openReader struct {
	storage.Reader
	open   atomic.Int64
	parked int // parkings that found some open
}

func (r *openReader) Iter(ctx context.Context, of storage.Range, o storage.IterOptions) (storage.Iterator, error) {
	it, err := r.Reader.Iter(ctx, of, o)
	if err != nil {
		return nil, err
	}
	r.open.Add(1)
	return &openIterator{Iterator: it, reader: r}, nil
}

// openIterator is one of the counted iterators.
type openIterator struct {
	storage.Iterator
	reader *openReader
	closed bool
}

func (it *openIterator) Close() {
	if !it.closed {
		it.closed = true
		it.reader.open.Add(-1)
	}
	it.Iterator.Close()
}

// park parks an operator that reads from r, as a cursor is parked between two batches,
// and wants every iterator closed.
func (r *openReader) park(t testing.TB, op exec.Operator) {
	before := r.open.Load()
	if _, done := op.Park(); !done {
		return // a goroutine reads ahead
	}
	if n := r.open.Load(); n > 0 {
		t.Fatalf("%d iterators stay open while their plan is parked", n)
	}
	if before > 0 {
		r.parked++
	}
}
