package storage

import "context"

// Txn is a transaction: one snapshot, an ordered buffer of writes over it, and log records.
// Reads may be concurrent; no other call or open iterator may be concurrent with a write.
type Txn interface {
	Reader

	// Snapshot returns the state of the transaction at this call: later writes, and
	// rollbacks of them, do not change what the reader and its iterators return; the
	// iterators may stay open meanwhile. Cursors read from it. It is valid until the
	// transaction ends; its Close does nothing.
	Snapshot() Reader

	// Set buffers a write; key and value are copied.
	// Errors: ErrTxnTooLarge, ErrValueTooLarge, ErrInvalidKey, ErrReadOnly.
	Set(key, value []byte) error

	// Delete buffers the removal of a key, present or not; key is copied.
	Delete(key []byte) error

	// Lock makes the commit conflict with every concurrent commit that writes or locks one
	// of the keys. It changes no value. Keys are copied.
	Lock(ctx context.Context, keys ...[]byte) error

	// Claim checks, before any work is done, whether a commit that writes one of the keys
	// would fail, because another transaction has committed one since the snapshot. If
	// Claim succeeds, Commit can still fail. Several keys may cost one round trip. Errors:
	// ErrConflict, ErrUnavailable, ctx.Err().
	Claim(ctx context.Context, keys ...[]byte) error

	// AppendLog adds a record to a stream; it gets its timestamp at commit. Both
	// are copied. A stream name has up to 1 KiB.
	AppendLog(stream, rec []byte) error

	// Savepoint marks the current state of the buffer.
	Savepoint() Savepoint

	// RollbackTo undoes everything since the savepoint: writes, locks and log
	// records. The savepoint stays valid, later ones do not.
	RollbackTo(Savepoint)

	// BufferedBytes returns the size of all buffered keys, values and records.
	BufferedBytes() int

	// Commit makes all writes visible at once, waits until they are durable if d is Synced,
	// and ends the transaction. It returns the timestamp of the commit. A transaction that
	// wrote nothing returns its ReadTimestamp, and with Synced waits until that timestamp
	// is durable. ctx is only checked before the commit can no longer be stopped. Errors:
	// ErrConflict, ErrUndetermined, ErrDiskFull, ErrClosed, ctx.Err().
	Commit(ctx context.Context, d Durability) (Timestamp, error)
}

// Savepoint is a position in a transaction's buffer, as returned by Txn.Savepoint.
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

	// Essential lets the commit use the reserve of a full disk: for drops,
	// truncation and other work that frees space in the end.
	Essential bool

	// Memory, if not nil, is the memory budget in which large writes are counted until the
	// commit, instead of the budget that all transactions share: a part of it, for the user
	// of this transaction.
	Memory Memory
}

// Memory is a budget of bytes that several transactions share.
type Memory interface {
	// Take takes n bytes if there are as many, and reports whether it did.
	Take(n int64) bool
	// Give returns n bytes.
	Give(n int64)
}
