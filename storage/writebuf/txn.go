package writebuf

import (
	"context"
	"iter"

	"github.com/cantledb/cantle/storage"
)

// Config holds the limits, the memory budget and the latches that all transactions of a store share.
type Config struct {
	Bounds  Bounds
	Memory  storage.Memory // budget of all transactions; nil = no limit
	Latches *Latches
}

// Engine is the part of one transaction that an engine implements: the commit, and the release of the snapshot.
type Engine interface {
	// Apply makes the buffered writes of the transaction visible, all at once, as storage.Txn.Commit. Txn calls it
	// at most once, and afterwards only Release. Apply may call Txn.End as soon as the writes are visible.
	Apply(ctx context.Context, d storage.Durability) (storage.Timestamp, error)

	// Release releases the snapshot and the buffer of the transaction. Txn calls it once, after it has released
	// the latches.
	Release()
}

// Txn implements storage.Txn, except Claim, over the snapshot of an engine: an engine embeds it beside its
// snapshot. The transaction is closed once the flag Writer.Closed is true; the snapshot checks the same flag in
// each read.
type Txn struct {
	Reads
	Writer
	Essential bool // see storage.TxnOptions
	engine    Engine
	held      HeldLatches
	ended     bool
}

// Begin waits for the latches of a transaction. The engine has set the fields Below and Closed before. Afterwards
// it calls Write, unless the transaction is read-only, and opens the snapshot; if that fails, it calls Abandon.
// Errors: ctx.Err().
func (t *Txn) Begin(ctx context.Context, e Engine, c *Config, o *storage.TxnOptions) (err error) {
	t.engine, t.Bounds, t.Memory, t.Essential = e, &c.Bounds, c.Memory, o.Essential
	if o.Memory != nil {
		t.Memory = o.Memory
	}
	if len(o.Latch) > 0 {
		t.held, err = c.Latches.Acquire(ctx, o.Latch)
	}
	return err
}

// Write sets the empty buffer b as the one of a transaction that may write.
func (t *Txn) Write(b *Buffer) { t.Buf, t.Layer = b, b.Newest() }

// Abandon releases the latches of a transaction whose snapshot could not be opened.
func (t *Txn) Abandon() { t.held.Release() }

// TakeLatches moves the latches of the transaction to the caller, which releases them later than End.
func (t *Txn) TakeLatches() HeldLatches {
	held := t.held
	t.held = HeldLatches{}
	return held
}

// Empty reports whether the transaction has written nothing, so that a commit has nothing to do.
func (t *Txn) Empty() bool { return t.Buf == nil || t.Buf.Empty() }

// Snapshot implements storage.Txn.
func (t *Txn) Snapshot() storage.Reader { return t.At(t.Written()) }

// Commit implements storage.Txn.
func (t *Txn) Commit(ctx context.Context, d storage.Durability) (storage.Timestamp, error) {
	if t.Closed.Swap(true) {
		return 0, storage.ErrClosed
	}
	defer t.End()
	return t.engine.Apply(ctx, d)
}

// Close implements storage.Txn.
func (t *Txn) Close() {
	if !t.Closed.Swap(true) {
		t.End()
	}
}

// End releases latches, snapshot, buffer and memory of a transaction that is closed. A second End does nothing.
func (t *Txn) End() {
	if t.ended {
		return
	}
	t.ended = true
	t.held.Release()
	t.engine.Release()
	t.Buf = nil
	t.Free()
}

// Touched yields the keys that the transaction has locked or written. If another transaction has committed one of
// them since this one's snapshot, the commit is refused with a conflict.
func (b *Buffer) Touched() iter.Seq[[]byte] {
	return func(yield func(key []byte) bool) {
		for _, key := range b.locks {
			if !yield(key) {
				return
			}
		}
		for key := range b.All() {
			if !yield(key) {
				return
			}
		}
	}
}
