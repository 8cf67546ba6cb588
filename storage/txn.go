package storage

import "context"

// Txn is a transaction: one snapshot, an ordered buffer of writes over it and
// log records. Reads may run concurrently with each other; writes need the Txn
// alone, and no open iterator on it.
type Txn interface {
	Reader

	// Snapshot is the transaction as of this call: later writes, and rollbacks of them, do
	// not change the answers of the reader, nor those of its iterators, which may stay open
	// meanwhile. A cursor reads it. It is valid until the transaction ends; its Close does
	// nothing.
	Snapshot() Reader

	// Set buffers a write; key and value are copied.
	// Errors: ErrTxnTooLarge, ErrValueTooLarge, ErrInvalidKey, ErrReadOnly.
	Set(key, value []byte) error

	// Delete buffers the removal of a key, present or not; key is copied.
	Delete(key []byte) error

	// Lock makes the commit conflict with every concurrent commit that writes or
	// locks one of the keys, and changes nothing. Keys are copied.
	Lock(ctx context.Context, keys ...[]byte) error

	// Claim tells, before any work is spent, whether a commit that wrote one of the
	// keys would fail because another one was faster. Without an error it can still
	// fail later: Commit decides. Several keys may cost one round trip.
	// Errors: ErrConflict, ErrUnavailable, ctx.Err().
	Claim(ctx context.Context, keys ...[]byte) error

	// AppendLog adds a record to a stream; it gets its timestamp at commit. Both
	// are copied. A stream name has up to 1 KiB.
	AppendLog(stream, rec []byte) error

	// Savepoint marks the present state of the buffer.
	Savepoint() Savepoint

	// RollbackTo undoes everything since the savepoint: writes, locks and log
	// records. The savepoint stays valid, later ones do not.
	RollbackTo(Savepoint)

	// BufferedBytes is the size of all buffered keys, values and records.
	BufferedBytes() int

	// Commit makes the writes visible all at once, then waits as durability
	// demands, and ends the transaction. It returns the commit's timestamp; a
	// transaction that wrote nothing returns its ReadTimestamp and with Synced
	// waits until that is durable. ctx is only looked at before the point of no
	// return.
	// Errors: ErrConflict, ErrUndetermined, ErrDiskFull, ErrClosed, ctx.Err().
	Commit(ctx context.Context, d Durability) (Timestamp, error)
}

// Savepoint is a place in a transaction's buffer, as given by Txn.Savepoint.
type Savepoint int

// TxnOptions shapes a transaction. The zero value is a writable transaction on
// the newest state.
type TxnOptions struct {
	// At is the snapshot; 0 = newest.
	At Timestamp

	// ReadOnly promises that nothing will be written.
	ReadOnly bool

	// Latch names keys this transaction is about to read and write. Begin waits,
	// first come first served, until no other transaction holds a latch of one of
	// them, and takes the snapshot then; so of many writers of one hot key each
	// finds the newest value and none conflicts with another latched one. The
	// latch ends when the commit becomes visible, before the wait for the disk,
	// or with Close.
	//
	// A latch is a queue, not a lock: writers that do not ask for it are still
	// only caught by Commit. A goroutine holds at most one latched transaction,
	// and never while it waits for a client. Different keys may share a latch.
	Latch [][]byte

	// Essential lets the commit use the reserve of a full disk: for drops,
	// truncation and other work that frees space in the end.
	Essential bool

	// Memory, if not nil, is what large writes are counted in until the commit, in place
	// of what all transactions share: a part of that, of the user who writes.
	Memory Memory
}

// Memory is a number of bytes that several share.
type Memory interface {
	// Take takes n bytes if there is room for them.
	Take(n int64) bool
	// Give gives n bytes back.
	Give(n int64)
}
