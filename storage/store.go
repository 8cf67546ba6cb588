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

// Durability is the guarantee of a successful Commit.
type Durability uint8

const (
	// Buffered: the commit is visible. It survives a power cut or the death of the process only
	// after the engine's next background sync (pebblekv: 100 ms) or any later Synced commit.
	Buffered Durability = iota
	// Synced: survives a power cut. Concurrent commits share one sync.
	Synced
)

// Store is one ordered transactional key space with a change log beside it.
// All methods may be called concurrently.
type Store interface {
	// Begin starts a transaction on the newest state, or at o.At.
	// It waits for the latches of o.Latch before it takes the snapshot.
	// Errors: ErrSnapshotTooOld, ErrClosed, ctx.Err().
	Begin(ctx context.Context, o TxnOptions) (Txn, error)

	// Snapshot opens the state at a timestamp; 0 is the newest state: with every commit that has
	// ended, in this process or in any other that uses the data now. The Reader must be closed,
	// because it keeps old versions alive. Errors: ErrSnapshotTooOld (also for a timestamp that
	// is not reached yet), ErrClosed.
	Snapshot(ctx context.Context, at Timestamp) (Reader, error)

	// ReadLog yields the durable records of a stream with a timestamp above
	// after, in commit order; the records of one commit share its timestamp ts and
	// keep the order of their AppendLog calls. after 0 starts at the oldest
	// record kept. rec aliases engine memory until yield returns.
	//
	// own is a timestamp of the record alone: above all earlier commits, at most ts, and
	// increasing within the commit, whose last record has ts itself. In stores written before own
	// existed it is ts.
	//
	// next is the after of the next call. At the end of the stream it is the
	// durable timestamp the read went up to: nothing at or below can appear
	// later. When yield returns false at a record of timestamp ts it is ts-1, so
	// the next call repeats that commit from its first record; a reader that
	// stops inside a commit counts the records of that timestamp it has taken.
	// Errors: ErrLogTruncated if after > 0 and later records are gone already.
	ReadLog(ctx context.Context, stream []byte, after Timestamp, yield func(ts, own Timestamp, rec []byte) bool) (next Timestamp, err error)

	// ReadLogBack yields the durable records of a stream with after < timestamp <=
	// upTo from the last one back to the first, and ends early when yield returns
	// false. rec aliases engine memory until yield returns.
	// Errors: ErrLogTruncated, before the first record, if records above after are
	// gone already.
	ReadLogBack(ctx context.Context, stream []byte, upTo, after Timestamp, yield func(ts Timestamp, rec []byte) bool) error

	// TruncateLog deletes the records of a stream with a timestamp <= ts. Readers that have
	// already read these records do not notice.
	TruncateLog(ctx context.Context, stream []byte, ts Timestamp) error

	// WaitLog returns once a durable commit above after exists. An engine whose timestamps
	// increase without commits may wait for a commit with log records. WaitLog wakes for commits
	// with records of any stream; the caller reads on and waits again.
	WaitLog(ctx context.Context, after Timestamp) error

	// Latest returns the newest timestamp that this store has seen, of a commit or a read. It is
	// not before any commit made through this store, and costs nothing. It is never 0 after the
	// first commit.
	Latest() Timestamp

	// Now returns a timestamp that is not before any commit that has ended anywhere, also in
	// another process that uses the same data. It may cost a round trip. Call it before refusing
	// a timestamp because it is later than Latest.
	Now(ctx context.Context) (Timestamp, error)

	// Durable returns the durable timestamp: the watermark up to which all commits
	// would survive a power cut. Durable <= Latest.
	Durable() Timestamp

	// Sync makes everything committed before the call durable. Several Buffered
	// commits and one Sync cost one wait.
	Sync(ctx context.Context) error

	// ApproximateBytes estimates the space that a range takes on disk, cheaply. Small ranges are
	// counted; of large ones unflushed data may be missing.
	ApproximateBytes(ctx context.Context, r Range) (uint64, error)

	// DeleteRange deletes a range physically and cheaply, outside of transactions. It causes no
	// conflicts, and open snapshots may or may not see the keys afterwards. It is for ranges that
	// no reader or writer uses any more. It is idempotent, and durable with the next Synced
	// commit. An engine may delete later, once no snapshot can reach the range: until then the
	// keys can be seen.
	DeleteRange(ctx context.Context, r Range) error

	// Checkpoint writes a consistent, openable copy of the durable store into dir,
	// which must not exist. Engines without files return an error.
	Checkpoint(ctx context.Context, dir string) error

	// DiskFull reports whether commits that add are refused with ErrDiskFull; it costs nothing.
	DiskFull() bool

	// Metrics returns counters and gauges; it is cheap enough to be called every second.
	Metrics() Metrics

	// Close syncs and closes. Readers, iterators and transactions must be closed before; if some
	// are open, Close returns an error with their number.
	Close() error
}

// Metrics holds counters and gauges that fit every engine. Counters count from the opening of the
// store; values that an engine does not have are 0.
type Metrics struct {
	DiskBytes     uint64        // DiskBytes is the size of the files of the store, including logs
	LogBytes      uint64        // LogBytes is the part of DiskBytes that the change log takes, including records truncated a moment ago
	KeptBytes     int64         // KeptBytes is the size of files that are kept for the next backup; they are not in DiskBytes
	DiskFree      uint64        // DiskFree is the free space of the disk, updated every few seconds
	DiskReserve   uint64        // DiskReserve is the free space below which commits are refused with ErrDiskFull
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

// DiskReserve returns the default free space below which commits are refused with ErrDiskFull: a
// twentieth of the disk, at most 2 GB.
func DiskReserve(total uint64) uint64 { return min(total/20, 2<<30) }

// DiskLow returns the free space below which operators should be warned: a tenth of the disk, at
// most 20 GB.
func DiskLow(total uint64) uint64 { return min(total/10, 20<<30) }
