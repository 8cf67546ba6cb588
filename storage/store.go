package storage

import (
	"bytes"
	"context"
	"time"
)

// Range represents the keys k with Start <= k < End. If Start is nil, it begins at the first key;
// if End is nil, it is unbounded.
type Range struct{ Start, End []byte }

// Contains reports whether key lies in the range.
func (r Range) Contains(key []byte) bool {
	return bytes.Compare(r.Start, key) <= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}

// Empty reports whether no key can lie in the range.
func (r Range) Empty() bool { return r.End != nil && bytes.Compare(r.Start, r.End) >= 0 }

// Durability selects whether a successful Commit guarantees that its writes survive a power cut.
type Durability uint8

const (
	// Buffered: the commit is visible when Commit returns. It survives a power cut or the death of the process
	// only after the engine's next background sync (pebblekv: within 100 ms by default), a later Synced commit or
	// Sync.
	Buffered Durability = iota
	// Synced: the commit survives a power cut when Commit returns. Concurrent commits share one sync.
	Synced
)

// Store is one ordered, transactional key space, in which all data of the server lie, with a change log beside it.
// All methods may be called concurrently.
type Store interface {
	// Begin starts a transaction on the newest state, or on the state at o.At. It first waits for the latches of
	// o.Latch, and then takes the snapshot. Errors: ErrSnapshotTooOld, ErrUnavailable, ErrClosed, ctx.Err().
	Begin(ctx context.Context, o TxnOptions) (Txn, error)

	// Snapshot opens the state at a timestamp for reading. 0 is the newest state: with every commit that has
	// ended, in this process or in any other that uses the data now. The Reader must be closed, because it keeps
	// old versions alive. Errors: ErrSnapshotTooOld (also for a timestamp that is not reached yet),
	// ErrUnavailable, ErrClosed, ctx.Err().
	Snapshot(ctx context.Context, at Timestamp) (Reader, error)

	// ReadLog yields the durable records of one stream of the change log, with timestamps greater than after, in
	// commit order. The records of one commit share its timestamp ts and keep the order of their AppendLog calls.
	// With after 0 it starts at the oldest record kept. rec aliases engine memory until yield returns.
	//
	// own is a timestamp of that record alone: greater than all earlier commits, at most ts, and increasing within
	// the commit, whose last record has ts itself. In stores written before own existed, own equals ts.
	//
	// next is the value to pass as after in the next call. At the end of the stream it is the durable timestamp up
	// to which the call has read: no record at or below it can appear later. When yield returns false at a record
	// with timestamp ts, next is ts-1, so the next call repeats that commit from its first record; a reader that
	// stops inside a commit counts the records of that timestamp that it has taken. Errors: ErrLogTruncated if
	// after > 0 and records after it are deleted already.
	ReadLog(ctx context.Context, stream []byte, after Timestamp, yield func(ts, own Timestamp, rec []byte) bool) (next Timestamp, err error)

	// ReadLogBack yields the durable records of one stream of the change log with after < timestamp <= upTo, from
	// the last one back to the first. It ends early when yield returns false. rec aliases engine memory until
	// yield returns. Errors: ErrLogTruncated, before the first record, if after > 0 and records after it are
	// deleted already.
	ReadLogBack(ctx context.Context, stream []byte, upTo, after Timestamp, yield func(ts Timestamp, rec []byte) bool) error

	// TruncateLog deletes the records of one stream of the change log with a timestamp <= ts. A reader that has
	// already passed these records is not affected.
	TruncateLog(ctx context.Context, stream []byte, ts Timestamp) error

	// WaitLog waits until there is a durable commit with a timestamp greater than after. An engine whose
	// timestamps increase without commits may wait for a commit with log records. Records of any stream end the
	// wait; so the caller reads its stream and, if that has no news, waits again.
	WaitLog(ctx context.Context, after Timestamp) error

	// Latest returns the newest timestamp that this store has seen, of a commit or a read, without any round trip.
	// It is not before any commit made through this store. It is never 0 after the first commit.
	Latest() Timestamp

	// Now returns a timestamp that is not before any commit that has ended anywhere, also in another process that
	// uses the same data. It may cost a round trip. Call it before a timestamp is refused because it is later than
	// Latest: another process may have made it.
	Now(ctx context.Context) (Timestamp, error)

	// Durable returns the durable timestamp: the watermark up to which all commits
	// would survive a power cut. Durable <= Latest.
	Durable() Timestamp

	// Sync makes everything durable that was committed before the call. Several Buffered commits and one Sync cost
	// only one wait for the disk.
	Sync(ctx context.Context) error

	// ApproximateBytes returns a cheap estimate of the bytes that a range of keys takes on disk. Small ranges are
	// counted; of large ones, data that are not flushed yet may be missing.
	ApproximateBytes(ctx context.Context, r Range) (uint64, error)

	// DeleteRange deletes all keys of a range physically and cheaply, outside of transactions. It causes no
	// conflicts, and open snapshots may or may not see the keys afterwards: so it is only for ranges that no
	// reader or writer uses any more, such as those of a dropped collection. It is idempotent, and durable with
	// the next Synced commit. An engine may delete later, once no snapshot can reach the range; until then the
	// keys can be seen.
	DeleteRange(ctx context.Context, r Range) error

	// Checkpoint copies the files of the store into the folder dir, which must not exist. The copy is a consistent
	// state of the durable data, and can be opened as a store. Engines without files return an error.
	Checkpoint(ctx context.Context, dir string) error

	// DiskFull reports whether commits that add data are refused with ErrDiskFull at present; it costs nothing.
	DiskFull() bool

	// Metrics returns the counters and gauges of the store; it is cheap enough to be called every second.
	Metrics() Metrics

	// Close makes all commits durable and closes the store. Readers, iterators and transactions must be closed
	// before; if some are open, Close returns an error with their number.
	Close() error
}

// Metrics holds the counters and gauges of a store that fit every engine. Counters count from the opening of the
// store; values that an engine does not have are 0.
type Metrics struct {
	DiskBytes     uint64        // DiskBytes is the size of the files of the store, including logs
	LogBytes      uint64        // LogBytes is the part of DiskBytes that the change log takes, including records truncated a moment ago
	KeptBytes     int64         // KeptBytes is the size of files that are kept for the next backup; they are not in DiskBytes
	DiskFree      uint64        // DiskFree is the free space of the disk, measured every second
	DiskReserve   uint64        // DiskReserve is the free space below which commits that add data are refused with ErrDiskFull
	DiskBallast   uint64        // DiskBallast is the size of the ballast, a file that is deleted when the reserve is used up
	DiskTotal     uint64        // DiskTotal is the size of the disk; 0 if there is none, or if it is unknown
	DirtyBytes    uint64        // DirtyBytes were written and are only in memory and in the write-ahead log
	Checkpoints   int64         // Checkpoints counts the flushes of dirty bytes
	CacheBytes    int64         // CacheBytes is the size of the cache of read data
	CacheMax      int64         // CacheMax is the maximum of CacheBytes
	CacheHits     int64         // CacheHits counts reads served from the cache
	CacheMisses   int64         // CacheMisses counts the other reads
	Syncs         int64         // Syncs counts syncs of the log; Commits / Syncs is the number of commits per sync
	SyncTime      time.Duration // SyncTime is the total time of these syncs
	SlowSyncs     int64         // SlowSyncs counts the syncs that took so long that the disk counts as slow
	Stalls        int64         // Stalls counts write stalls
	Commits       int64         // Commits counts commits that wrote something
	Conflicts     int64         // Conflicts counts commits refused with ErrConflict
	ConflictKeys  int64         // ConflictKeys is the number of keys in the table for conflict detection
	OpenSnapshots int64         // OpenSnapshots counts open Readers and Txns
	OpenIterators int64         // OpenIterators counts open iterators of Readers and Txns
}

// DiskReserve returns the default reserve, the free disk space below which commits that add data are refused with
// ErrDiskFull: a twentieth of total, the size of the disk, at most 2 GiB. Unit: bytes.
func DiskReserve(total uint64) uint64 { return min(total/20, 2<<30) }

// DiskLow returns the free disk space below which operators should be warned: a tenth of total, the size of the
// disk, at most 20 GiB. Unit: bytes.
func DiskLow(total uint64) uint64 { return min(total/10, 20<<30) }
