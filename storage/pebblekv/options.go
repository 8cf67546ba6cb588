package pebblekv

import (
	"bytes"
	"os"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// FS is Pebble's interface of a file system, exported so that callers can pass one without importing Pebble: the
// disk, memory, or a simulated disk that loses unsynced writes.
type FS = vfs.FS

// Options are the settings of a store. The zero value is a durable store on disk.
type Options struct {
	// InMemory keeps all data in memory, without a write-ahead log. FS and the folder passed to Open are ignored,
	// and every commit counts as durable at once.
	InMemory bool

	// FS is the file system; nil is the disk.
	FS FS

	// CacheBytes is the size of both caches together; 0 = 128 MiB, in memory 32 MiB. An eighth of it, at most 64
	// MiB, caches single values that are read often. The rest is Pebble's cache of table blocks, which lies
	// outside of Go's heap and stays full. Blocks that do not fit are likely to be in the page cache of the
	// operating system, which shrinks for other programs.
	CacheBytes int64

	// MemtableBytes is the size of one memtable, of which there may be Memtables; 0 = 32 MiB. It is at most a
	// 128th of the disk, but not less than 1 MiB for that. Besides the write-ahead logs of unflushed
	// memtables, up to Memtables+1 logs of this size lie on the disk to be reused.
	MemtableBytes int64

	// Memtables is the number of memtables, full ones included, at which all writes stall until one is flushed; 0
	// = 4.
	Memtables int

	// SyncInterval is the longest time that a commit with Buffered durability stays without a sync of the log; 0 =
	// 100 ms.
	SyncInterval time.Duration

	// ReserveBytes is the free disk space below which commits that add data are refused with ErrDiskFull unless
	// they are Essential; 0 = 5 % of the disk, at most 2 GiB. If it is negative, there is no reserve and no ballast.
	ReserveBytes int64

	// KeptBytes is the maximum size of all write-ahead logs that KeepWrites keeps for the next backup; 0 = 8 GiB.
	KeptBytes int64

	// TxnBytesMax is the maximum size in bytes of all writes of one transaction (0 = 256 MiB), and ValueBytesMax
	// of one key with its value (0 = 64 MiB).
	TxnBytesMax, ValueBytesMax int

	// TxnMemory, if not nil, is the memory budget that the writes of all open transactions share.
	TxnMemory storage.Memory

	// Clock returns the time from which new timestamps take their seconds. If it is nil, timestamps count from 1.
	Clock func() time.Time

	// ReadOnly opens a store for reading, even a damaged one if its manifest is not, and changes no file. Reads of
	// a damaged table return an error; a damaged log is read up to the damage. Commits that write are refused with
	// ErrNotWritable.
	ReadOnly bool

	// DiskFull is set together with ReadOnly if the store is opened for reading only because its disk is full:
	// then commits that write are refused with ErrDiskFull.
	DiskFull bool

	// Follow opens a store that follows another one (BeginFollow): Open then returns a Follower. Commits that write
	// are refused with ErrFollower. Without Follow and ReadOnly such a store is refused with ErrFollower.
	Follow bool
	// EndFollow opens a store that follows another one as one that follows none any more, for good.
	EndFollow bool

	// Damaged is called with the damages that an open ReadOnly finds, and once with those of each table that is
	// found to be damaged while the store is open. From then on commits that are not Essential are refused.
	Damaged func([]storage.Damage)

	// Log receives Pebble's messages; nil drops them.
	Log func(isError bool, message string)
	// Warn receives warnings of the store's own; nil drops them.
	Warn func(message string)

	// Fatal is called with the reason when the store cannot continue, for example after a failed sync of the log, which
	// must never be repeated. It should flush the program's own logs. When it returns, the process exits, with status 3
	// unless the reason is Watchdog; for that it exits after five seconds even if Fatal has not returned.
	Fatal func(message string)

	// StallTries is the number of failed flushes and compactions, while all writes wait for one, after which the
	// process ends; 0 = 500, about ten seconds. If the attempts fail because the disk is full, writes wait without
	// this limit.
	StallTries int

	// Watchdog is the maximum time that one sync, write, creation, rename or removal of a file may take. If one
	// takes longer, Fatal is called and the process ends with status 61; 0 = no limit.
	Watchdog time.Duration

	// Exit ends the process; nil = os.Exit. Tests that simulate the loss of a server set an Exit that returns. By
	// then no client may be connected to the store any more.
	Exit func(status int)
}

// defaults returns a copy of the options with defaults in place of zero fields.
func (o Options) defaults() Options {
	if o.InMemory {
		o.FS = vfs.NewMem()
		o.ReserveBytes = -1
		o.CacheBytes = orElse(o.CacheBytes, 32<<20)
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Exit == nil {
		o.Exit = os.Exit
	}
	o.CacheBytes = orElse(o.CacheBytes, 128<<20)
	o.MemtableBytes = orElse(o.MemtableBytes, 32<<20)
	o.Memtables = orElse(o.Memtables, 4)
	o.SyncInterval = orElse(o.SyncInterval, 100*time.Millisecond)
	o.StallTries = orElse(o.StallTries, 500)
	o.KeptBytes = orElse(o.KeptBytes, 8<<30)
	o.TxnBytesMax = orElse(o.TxnBytesMax, 256<<20)
	o.ValueBytesMax = orElse(o.ValueBytesMax, 64<<20)
	return o
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// stopDepth is the number of sublevels of Pebble's level 0, which grows with each flush, at which all writes stall
// until a compaction ends.
const stopDepth = 24

// pebble returns the options with which Pebble is opened. Pebble calls stalls when a write stall begins, and t
// when background work fails. The caller releases the cache in the options by Unref.
func (o Options) pebble(stalls func(), t *failureHandler) *pebble.Options {
	p := &pebble.Options{
		Cache:                       pebble.NewCache(o.CacheBytes - hotShare(o.CacheBytes)),
		FS:                          o.FS,
		FormatMajorVersion:          pebble.FormatValueSeparation, // pinned: Pebble's default is an old version, and a raised version cannot be lowered
		DisableWAL:                  o.InMemory,
		MemTableSize:                uint64(o.MemtableBytes),
		MemTableStopWritesThreshold: o.Memtables,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       stopDepth,
		LBaseMaxBytes:               min(max(2*o.MemtableBytes, 4<<20), 64<<20),
		BytesPerSync:                512 << 10,
		WALBytesPerSync:             512 << 10,
		MaxOpenFiles:                4096,
		CompactionConcurrencyRange:  func() (int, int) { return 1, max(2, runtime.GOMAXPROCS(0)/2) },
		FlushDelayDeleteRange:       10 * time.Second,
		Logger:                      logger{o},
		EventListener: &pebble.EventListener{
			WriteStallBegin: func(pebble.WriteStallBeginInfo) { stalls(); t.stalled.Store(1) },
			WriteStallEnd:   func() { t.stalled.Store(0) },
			BackgroundError: t.handle,
		},
	}
	p.Experimental.SpanPolicyFunc = familyPolicy
	// The first value is the size of flushed tables, the second the size of tables on the next level. The second
	// bounds how many bytes of other tables are rewritten when a flushed table moves down: 25 times its size,
	// which is less than one flush.
	p.TargetFileSizes[0] = max(o.MemtableBytes/16, 1<<20)
	p.TargetFileSizes[1] = max(o.MemtableBytes/32, 1<<20)
	for i := range p.Levels {
		// A Bloom filter of 10 bits a key on every level. Without one on the last level, the check for a duplicate
		// key reads a block for every absent key: 9–31 µs instead of 1.4 µs.
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		p.Levels[i].BlockSize = 8 << 10
		p.Levels[i].IndexBlockSize = 256 << 10
	}
	if !o.InMemory {
		// A table written by a flush is not compressed, because a compaction soon rewrites it: compressing in both
		// took 7 % of the time of an insert. Only tables of the change log are compressed in their flush, because
		// they are not rewritten (familyPolicy).
		packed := func() *sstable.CompressionProfile { return sstable.SnappyCompression }
		p.Levels[0].Compression = func() *sstable.CompressionProfile { return &unpacked }
		for i := range p.Levels[1:] {
			p.Levels[i+1].Compression = packed
		}
	}
	return p
}

// familyMeta is the first byte of the keys of metadata, such as the catalog. The engine does not count writes to
// them when it decides whether a commit with deletes adds data.
const familyMeta = 'm'

// unpacked is the compression of flushed tables: none, except for ranges of keys whose policy requests fast
// compression. It is a copy, because Pebble ignores that policy for NoCompression itself.
var unpacked = *sstable.NoCompression

// familyStarts are the keys at which Pebble must end one table and begin the next: the start and the end of the
// change log and of each family (kind) of callers' keys (storage/keyspace). The log only grows at its end, so its
// tables overlap with no others, and none is merged with tables of earlier or later flushes. Without these ends,
// one table of each flush held the end of one family and the start of the next, overlapped with all tables
// between, and all were written a second time.
var familyStarts = [][]byte{logStart, logEnd, {1}, {'i'}, {'j'}, {familyMeta}, {'n'}, {'r'}, {'s'}}

// familyPolicy implements Pebble's SpanPolicyFunc: it returns the key at which a table that begins with key has to
// end, and whether the table is compressed at its flush. Only tables of the change log are: they overlap with no
// others, so they move down the levels and are never rewritten.
func familyPolicy(key []byte) (pebble.SpanPolicy, []byte, error) {
	for _, start := range familyStarts {
		if bytes.Compare(key, start) < 0 {
			return pebble.SpanPolicy{PreferFastCompression: bytes.HasPrefix(key, logStart)}, start, nil
		}
	}
	return pebble.SpanPolicy{}, nil, nil
}
