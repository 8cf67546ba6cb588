package writebuf

import (
	"context"
	"iter"

	"github.com/cantledb/cantle/storage"
)

// Config holds what the transactions of a store share.
type Config struct {
	Bounds  Bounds
	Memory  storage.Memory // of all transactions; nil = no limit
	Latches *Latches
}

// Engine opens and commits the snapshot of one transaction.
type Engine interface {
	// Apply makes the buffered writes visible, all at once, as storage.Txn.Commit. It is called at most once, when
	// the transaction accepts no other call. It may call Txn.End as soon as the writes are visible.
	Apply(ctx context.Context, d storage.Durability) (storage.Timestamp, error)

	// Release releases the snapshot and the buffer. It is called once, after the latches have been released.
	Release()
}

// Txn implements storage.Txn over the snapshot of an engine, except Claim: an engine embeds it beside its
// snapshot. It is closed once Writer.Closed is true; that flag belongs to the snapshot, which checks it in
// each read.
type Txn struct {
	Reads
	Writer
	Essential bool // see storage.TxnOptions
	engine    Engine
	held      HeldLatches
	ended     bool
}

// Begin waits for the latches of a transaction. The fields Below and Closed are set already. Afterwards the engine
// calls Write, unless the transaction is read-only, and opens the snapshot; if that fails, it calls Abandon.
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

// Write sets the buffer of a transaction that may write; it is empty.
func (t *Txn) Write(b *Buffer) { t.Buf, t.Layer = b, b.Newest() }

// Abandon releases the latches of a transaction whose snapshot could not be opened.
func (t *Txn) Abandon() { t.held.Release() }

// TakeLatches returns the latches of the transaction to a caller that releases them later than End.
func (t *Txn) TakeLatches() HeldLatches {
	held := t.held
	t.held = HeldLatches{}
	return held
}

// Empty reports whether a commit would have nothing to do.
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

// End releases latches, snapshot, buffer and memory of a transaction that is closed. It does nothing the second
// time.
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

// Touched yields the keys that the transaction has locked and written: another commit of one of these since its
// snapshot is a conflict.
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
