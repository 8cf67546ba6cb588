package storage

import (
	"errors"
	"fmt"
)

// Errors of the engines, matched with errors.Is. Engines wrap them to add the cause; callers never
// match text. Any other error of an engine is unexpected and is reported as an internal error.
var (
	// ErrNotFound: the key is absent in the snapshot.
	ErrNotFound = errors.New("storage: key not found")
	// ErrConflict: another transaction has committed a write (or Lock) of a key that this one wrote
	// or locked, after the snapshot of this one. Nothing was written; the whole transaction may be
	// retried.
	ErrConflict = errors.New("storage: write conflict")
	// ErrUndetermined: the commit may or may not have happened.
	ErrUndetermined = errors.New("storage: commit outcome unknown")
	// ErrUnavailable: the data cannot be reached. If a commit returns it, nothing was written. The
	// operation may be retried.
	ErrUnavailable = errors.New("storage: the store cannot be reached")
	// ErrSnapshotTooOld: the state at the requested timestamp is not kept any more.
	ErrSnapshotTooOld = errors.New("storage: snapshot too old")
	// ErrLogTruncated: records after the requested position were already truncated.
	ErrLogTruncated = errors.New("storage: log history lost")
	// ErrTxnTooLarge: the writes of the transaction exceed the engine's bound.
	ErrTxnTooLarge = errors.New("storage: transaction too large")
	// ErrMemoryFull: the uncommitted writes of all transactions have reached their memory limit.
	ErrMemoryFull = errors.New("storage: no memory for uncommitted writes")
	// ErrValueTooLarge: one key or value exceeds the engine's bound.
	ErrValueTooLarge = errors.New("storage: key or value too large")
	// ErrInvalidKey: an empty key, an empty value, or a first key byte outside
	// 0x01..0xFE. A bug of the caller.
	ErrInvalidKey = errors.New("storage: invalid key or value")
	// ErrReadOnly: a write on a Txn begun with ReadOnly. A bug of the caller.
	ErrReadOnly = errors.New("storage: read-only transaction")
	// ErrNotWritable: the store is open for reading only, or was found to be damaged.
	// Nothing was written.
	ErrNotWritable = errors.New("storage: not writable")
	// ErrDiskFull: free space is below the reserve; only commits that delete are accepted. Nothing
	// was written. See DiskFullError.
	ErrDiskFull = errors.New("storage: disk full")
	// ErrDiskFails: a read or write of the disk failed. The error of a commit is also
	// ErrUndetermined, unless nothing was written.
	ErrDiskFails = errors.New("storage: the disk fails")
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("storage: store is in use by another process")
	// ErrFormat: the store was written by a version this one cannot read.
	ErrFormat = errors.New("storage: unknown store format")
	// ErrCorruption: stored bytes fail their checksum or cannot be decoded.
	ErrCorruption = errors.New("storage: corruption")
	// ErrClosed: the store, reader or transaction is closed.
	ErrClosed = errors.New("storage: closed")
)

// DiskFullError is an ErrDiskFull: the store cannot be opened for writing until Need bytes of the
// disk are free.
type DiskFullError struct{ Need, Free uint64 }

func (e *DiskFullError) Error() string {
	return fmt.Sprintf("the disk is full: %d bytes are free, and the store needs %d to be opened for writing", e.Free, e.Need)
}

// Is implements the interface of errors.Is.
func (e *DiskFullError) Is(target error) bool { return target == ErrDiskFull }
