package storage

import (
	"bytes"
	"context"
	"time"
)

// Range is the keys k with Start <= k < End. Start nil begins at the first key;
// End nil is unbounded.
type Range struct{ Start, End []byte }

// Contains reports whether key lies in the range.
func (r Range) Contains(key []byte) bool {
	return bytes.Compare(r.Start, key) <= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}

// Empty reports whether no key can lie in the range.
func (r Range) Empty() bool { return r.End != nil && bytes.Compare(r.Start, r.End) >= 0 }

// Durability says what a successful Commit promises.
type Durability uint8

const (
	// Buffered: visible to all; survives neither a power cut nor the death of the
	// process until the engine's next background sync (pebblekv: 100 ms) or the
	// next Synced commit of anybody.
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

	// Snapshot opens the state at a timestamp; 0 is the newest: with every commit that has
	// ended, in this process, and anywhere else that may use the data now. The Reader must
	// be closed: it keeps old versions alive.
	// Errors: ErrSnapshotTooOld (also for a time not yet reached), ErrClosed.
	Snapshot(ctx context.Context, at Timestamp) (Reader, error)

	// ReadLog yields the durable records of a stream with a timestamp above
	// after, in commit order; the records of one commit share its timestamp ts and
	// keep the order of their AppendLog calls. after 0 starts at the oldest
	// record kept. rec aliases engine memory until yield returns.
	//
	// own is a timestamp of the record alone: above all commits before, not above
	// ts, rising within the commit, whose last record has ts itself. Records of
	// stores written before there was such a thing have ts.
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

	// TruncateLog drops the records of a stream with a timestamp <= ts. Readers that
	// have read all that it drops do not notice.
	TruncateLog(ctx context.Context, stream []byte, ts Timestamp) error

	// WaitLog returns once a durable commit above after exists; an engine whose
	// timestamps pass without commits may wait for one with log records. It wakes for
	// every stream; the caller reads on and waits again.
	// Errors: ErrClosed, ctx.Err().
	WaitLog(ctx context.Context, after Timestamp) error

	// Latest returns the newest timestamp that this store has met, of a commit or a
	// read: it is not before any commit that was made through it, and costs nothing.
	// Never 0 once anything was committed.
	Latest() Timestamp

	// Now returns a timestamp that is not before any commit that has ended anywhere,
	// also in another process over the same data. It may cost a round trip: ask it
	// before a time is refused for being later than Latest.
	// Errors: ErrUnavailable, ErrClosed, ctx.Err().
	Now(ctx context.Context) (Timestamp, error)

	// Durable returns the newest timestamp up to which all commits would survive
	// a power cut. Durable <= Latest.
	Durable() Timestamp

	// Sync makes everything committed before the call durable. Several Buffered
	// commits and one Sync cost one wait.
	Sync(ctx context.Context) error

	// ApproximateBytes estimates the space a range takes on disk, cheaply; small
	// ranges are counted, unflushed data of large ones may be missed.
	ApproximateBytes(ctx context.Context, r Range) (uint64, error)

	// DeleteRange removes a range physically and cheaply, outside transactions:
	// it conflicts with nobody, open snapshots may or may not still see the keys.
	// For ranges no reader or writer uses any more. Idempotent; durable together
	// with the next Synced commit. An engine may do it later, once no snapshot can reach
	// the range: until then the keys can be seen.
	DeleteRange(ctx context.Context, r Range) error

	// Checkpoint writes a consistent, openable copy of the durable store into dir,
	// which must not exist. Engines without files return an error.
	Checkpoint(ctx context.Context, dir string) error

	// DiskFull reports that commits which add are refused with ErrDiskFull; it costs nothing.
	DiskFull() bool

	// Metrics returns counters and gauges; cheap enough for every second.
	Metrics() Metrics

	// Close syncs and closes. Readers, iterators and transactions must be closed
	// before; if some are not, Close returns an error and names their number.
	Close() error
}

// Metrics is a store at a glance, in words that fit every engine. Counters count from
// the opening of the store; what an engine does not have stays 0.
type Metrics struct {
	DiskBytes     uint64        // DiskBytes are the files of the store, logs included
	LogBytes      uint64        // LogBytes are those of DiskBytes that the log of changes takes, what was truncated a moment ago included
	KeptBytes     int64         // KeptBytes are files beside DiskBytes that are kept for the next backup
	DiskFree      uint64        // DiskFree is what is left of the disk for the store, looked at every few seconds
	DiskReserve   uint64        // DiskReserve is how much of it has to be free, or commits are refused with ErrDiskFull
	DiskBallast   uint64        // DiskBallast is what a file takes up, to be let go when the reserve is gone
	DiskTotal     uint64        // DiskTotal is how large that disk is; 0 if there is none, or it does not tell
	DirtyBytes    uint64        // DirtyBytes were written and lie in memory and a log only
	Checkpoints   int64         // Checkpoints counts how often dirty bytes went to where they stay
	CacheBytes    int64         // CacheBytes is what the cache of what was read holds
	CacheMax      int64         // CacheMax is what the cache may grow to
	CacheHits     int64         // CacheHits are the reads that the cache answered
	CacheMisses   int64         // CacheMisses are the reads that it could not
	Syncs         int64         // Syncs of the log; Commits / Syncs is how many share one
	SyncTime      time.Duration // SyncTime is how long they took together
	SlowSyncs     int64         // SlowSyncs are those that took so long that the disk must be called slow
	Stalls        int64         // Stalls counts how often the engine held back writers
	Commits       int64         // Commits that wrote something
	Conflicts     int64         // Conflicts are the commits refused with ErrConflict
	ConflictKeys  int64         // ConflictKeys are remembered for the detection of conflicts
	OpenSnapshots int64         // OpenSnapshots are Readers and Txns
	OpenIterators int64         // OpenIterators of Readers and Txns
}

// DiskReserve is below how many free bytes of a disk commits are refused with ErrDiskFull, unless
// the store was told otherwise: a twentieth of it, and not more than 2 GB.
func DiskReserve(total uint64) uint64 { return min(total/20, 2<<30) }

// DiskLow is below how many free bytes of a disk somebody should be told: a tenth of it, and
// not more than 20 GB.
func DiskLow(total uint64) uint64 { return min(total/10, 20<<30) }
