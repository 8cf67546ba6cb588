package storage

import (
	"errors"
	"fmt"
)

// Errors of the engines, which callers match with errors.Is, never by their text. Engines wrap them to add the
// cause. Any other error of an engine, except that of a context, is unexpected and is reported as an internal
// error.
var (
	// ErrNotFound: the key is absent in the snapshot.
	ErrNotFound = errors.New("storage: key not found")
	// ErrConflict: another transaction has committed a write (or Lock) of a key that this transaction wrote or
	// locked, after this one's snapshot, or the engine cannot exclude that. Nothing was written; the whole
	// transaction may be retried.
	ErrConflict = errors.New("storage: write conflict")
	// ErrUndetermined: the commit may or may not have happened, because its outcome got lost.
	ErrUndetermined = errors.New("storage: commit outcome unknown")
	// ErrUnavailable: the data cannot be reached. If a commit returns it, nothing was written. The
	// operation may be retried.
	ErrUnavailable = errors.New("storage: the store cannot be reached")
	// ErrSnapshotTooOld: the state at the requested timestamp is not kept any more, or the timestamp is not reached
	// yet.
	ErrSnapshotTooOld = errors.New("storage: snapshot too old")
	// ErrLogTruncated: records of the change log after the requested position are deleted already.
	ErrLogTruncated = errors.New("storage: log history lost")
	// ErrTxnTooLarge: the buffered writes of one transaction exceed the maximum size of the engine.
	ErrTxnTooLarge = errors.New("storage: transaction too large")
	// ErrMemoryFull: the memory budget for uncommitted writes, of all transactions or of TxnOptions.Memory, is
	// used up.
	ErrMemoryFull = errors.New("storage: no memory for uncommitted writes")
	// ErrValueTooLarge: one key with its value, or one log record with its stream, exceeds the maximum size of the
	// engine.
	ErrValueTooLarge = errors.New("storage: key or value too large")
	// ErrInvalidKey: a write has an empty key, an empty value, or a first key byte outside of 0x01..0xFE. It is a
	// bug of the caller.
	ErrInvalidKey = errors.New("storage: invalid key or value")
	// ErrReadOnly: a caller writes in a transaction that was begun with ReadOnly. It is a bug of the caller.
	ErrReadOnly = errors.New("storage: read-only transaction")
	// ErrNotWritable: the store is open for reading only and refuses writes, or was found to be damaged and refuses
	// those that are not Essential. Nothing was written.
	ErrNotWritable = errors.New("storage: not writable")
	// ErrFollower: the store follows another one, and only the writes of that one are applied to it. Nothing was
	// written.
	ErrFollower = errors.New("storage: the store follows another one")
	// ErrDiskFull: the free disk space is below the reserve, so only commits that delete or are Essential are
	// accepted. Nothing was written. See DiskFullError.
	ErrDiskFull = errors.New("storage: disk full")
	// ErrDiskFails: the operating system reports that a read or write of the disk failed. If a commit returns it,
	// the error also matches ErrUndetermined, unless nothing was written.
	ErrDiskFails = errors.New("storage: the disk fails")
	// ErrLocked: the store is open already, usually in another process.
	ErrLocked = errors.New("storage: store is in use by another process")
	// ErrFormat: the store was written by a version of the program whose format this one cannot read.
	ErrFormat = errors.New("storage: unknown store format")
	// ErrCorruption: stored bytes fail their checksum or cannot be decoded.
	ErrCorruption = errors.New("storage: corruption")
	// ErrClosed: the store, reader or transaction is closed.
	ErrClosed = errors.New("storage: closed")
)

// DiskFullError is the ErrDiskFull of opening a store: Need bytes of the disk must be free to open it for writing,
// and Free are.
type DiskFullError struct{ Need, Free uint64 }

func (e *DiskFullError) Error() string {
	return fmt.Sprintf("the disk is full: %d bytes are free, and the store needs %d to be opened for writing", e.Free, e.Need)
}

// Is implements the interface of errors.Is.
func (e *DiskFullError) Is(target error) bool { return target == ErrDiskFull }
