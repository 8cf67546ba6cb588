package storage

import "context"

// Txn is a transaction of a store: it reads one snapshot and its own writes, which it buffers in key order with
// its log records until Commit. Reads may be concurrent; no other call or open iterator may be concurrent with a
// write.
type Txn interface {
	Reader

	// Snapshot returns a reader of the transaction's state at this call, for cursors: later writes, and rollbacks
	// of them, do not change what the reader and its iterators return, and the iterators may stay open during
	// writes. The reader is valid until the transaction ends; its Close does nothing.
	Snapshot() Reader

	// Set writes the value of a key in the transaction, not yet in the store; key and value are copied. Errors:
	// ErrTxnTooLarge, ErrMemoryFull, ErrValueTooLarge, ErrInvalidKey, ErrReadOnly, ErrClosed.
	Set(key, value []byte) error

	// Delete deletes a key in the transaction, not yet in the store, whether the key exists or not; key is copied.
	Delete(key []byte) error

	// Lock makes the commit of this transaction conflict with every concurrent commit that writes or locks one of
	// the keys. It changes no value, and does not wait. Keys are copied.
	Lock(ctx context.Context, keys ...[]byte) error

	// Claim checks, before a caller does more work, whether a commit that writes one of the keys would fail
	// already now, because another transaction has committed one since the snapshot. If Claim succeeds, Commit can
	// still fail. Several keys may cost one round trip. Errors: ErrConflict, ErrUnavailable, ErrClosed, ctx.Err().
	Claim(ctx context.Context, keys ...[]byte) error

	// AppendLog adds a record to a stream of the change log; the record gets its timestamp at commit. stream and
	// rec are copied. A stream name has at most 1 KiB.
	AppendLog(stream, rec []byte) error

	// Savepoint returns a mark of the current state of the transaction, to which RollbackTo can return.
	Savepoint() Savepoint

	// RollbackTo undoes everything that the transaction did since the savepoint: writes, locks and log records.
	// The savepoint stays valid, later ones do not.
	RollbackTo(Savepoint)

	// BufferedBytes returns the size in bytes of all keys, values and records that the transaction has buffered.
	BufferedBytes() int

	// Commit makes all writes of the transaction visible at once, waits until they are durable if d is Synced, and ends
	// the transaction. It returns the timestamp of the commit. For a transaction that wrote nothing it returns the
	// ReadTimestamp, and with Synced waits until that timestamp is durable. ctx is only checked while the commit can
	// still be stopped. Errors: ErrConflict, ErrUndetermined, ErrUnavailable, ErrDiskFull, ErrDiskFails,
	// ErrNotWritable, ErrClosed, ctx.Err().
	Commit(ctx context.Context, d Durability) (Timestamp, error)
}

// Savepoint is a position in the sequence of a transaction's writes, as returned by Txn.Savepoint, to which the
// transaction can go back.
type Savepoint int

// TxnOptions are the options of a transaction. The zero value is a writable transaction on
// the newest state.
type TxnOptions struct {
	// At is the timestamp of the snapshot; 0 = newest.
	At Timestamp

	// ReadOnly promises that nothing will be written.
	ReadOnly bool

	// Latch lists keys that this transaction is about to read and write. Begin waits, first
	// come first served, until no other transaction holds a latch of one of them, and then
	// takes the snapshot. So each of many latched writers of a hot key reads the newest
	// value, and none conflicts with another latched one. The latch ends when the commit
	// becomes visible, before the wait for the disk, or with Close.
	//
	// A latch is a queue, not a lock: conflicts with writers that do not use it are only
	// detected by Commit. A goroutine holds at most one latched transaction, and never
	// while it waits for a client. Different keys may share a latch.
	Latch [][]byte

	// Essential lets the commit add data on a full disk, where other commits may only delete, and write to a
	// damaged store: for drops, truncation and other work that frees space in the end.
	Essential bool

	// Memory, if not nil, is the memory budget from which large writes take their bytes until the commit, instead
	// of the budget that all transactions share. It is a part of that budget, for the user of this transaction.
	Memory Memory
}

// Memory is a budget of bytes of memory that several transactions share.
type Memory interface {
	// Take takes n bytes if there are as many, and reports whether it did.
	Take(n int64) bool
	// Give returns n bytes.
	Give(n int64)
}
