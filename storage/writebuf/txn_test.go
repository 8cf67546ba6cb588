package writebuf

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cantledb/cantle/storage"
)

// recordingEngine records the calls of a Txn.
type recordingEngine struct {
	t     *Txn
	calls []string
	err   error // of Apply
	early bool  // Apply calls End
}

func (e *recordingEngine) Apply(context.Context, storage.Durability) (storage.Timestamp, error) {
	if e.early {
		e.t.End()
	}
	e.calls = append(e.calls, "apply")
	return 7, e.err
}

func (e *recordingEngine) Release() { e.calls = append(e.calls, "release") }

// begin begins e.t, a transaction that has written one key and holds the key's latch.
func (e *recordingEngine) begin(t *testing.T, c *Config, closed *atomic.Bool, memory storage.Memory) {
	t.Helper()
	e.t = &Txn{}
	e.t.Closed = closed
	if err := e.t.Begin(t.Context(), e, c, &storage.TxnOptions{Latch: [][]byte{[]byte("k")}, Memory: memory}); err != nil {
		t.Fatal(err)
	}
	e.t.Write(&Buffer{})
	if err := e.t.Set([]byte("k"), make([]byte, 200<<10)); err != nil {
		t.Fatal(err)
	}
}

// TestTxn checks that a Txn is committed or closed only once, releases each resource once, and takes memory from
// the budget in its options.
func TestTxn(t *testing.T) {
	failed := errors.New("failed")
	c := &Config{Bounds: Bounds{Value: 1 << 20, Txn: 1 << 20}, Memory: &memoryBudget{}, Latches: NewLatches()}
	for _, test := range []struct {
		what   string
		engine recordingEngine
		end    func(*Txn) error
		want   error
		calls  []string
	}{
		{"commit", recordingEngine{}, commit, nil, []string{"apply", "release"}},
		{"commit that ends early", recordingEngine{early: true}, commit, nil, []string{"release", "apply"}},
		{"failed commit", recordingEngine{err: failed}, commit, failed, []string{"apply", "release"}},
		{"close", recordingEngine{}, func(x *Txn) error { x.Close(); return nil }, nil, []string{"release"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			var closed atomic.Bool
			memory := &memoryBudget{left: 1 << 20}
			e := &test.engine
			e.begin(t, c, &closed, memory)
			if memory.taken == 0 {
				t.Error("no memory is taken")
			}
			if err := test.end(e.t); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if err := commit(e.t); !errors.Is(err, storage.ErrClosed) {
				t.Errorf("a commit after the end: %v", err)
			}
			e.t.Close()
			if !slices.Equal(e.calls, test.calls) {
				t.Errorf("calls %v, want %v", e.calls, test.calls)
			}
			if memory.taken != 0 || !e.t.Empty() {
				t.Errorf("%d bytes are not given back", memory.taken)
			}
			held, err := c.Latches.Acquire(t.Context(), [][]byte{[]byte("k")}) // waits if the latch is still held
			if err != nil {
				t.Fatal(err)
			}
			held.Release()
		})
	}
}

func commit(x *Txn) error {
	_, err := x.Commit(context.Background(), storage.Buffered)
	return err
}
