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

// FS is Pebble's interface of a file system, so that callers can pass one without importing Pebble: the
// disk, memory, or memory that drops what was not synced.
type FS = vfs.FS

// Options are the settings of a store. The zero value is a durable store on disk.
type Options struct {
	// InMemory keeps everything in memory, without a write-ahead log; dir is
	// ignored and every commit counts as durable at once.
	InMemory bool

	// FS is the file system; nil is the disk.
	FS FS

	// CacheBytes is the size of the caches; 0 = 128 MiB, in memory 32 MiB. The block cache lies outside of
	// Go's heap and stays full; blocks that do not fit are likely to be in the system's page cache, which
	// shrinks for other programs. An eighth, at most 64 MiB, is the cache of single values that are read
	// often.
	CacheBytes int64

	// MemtableBytes is the size of one memtable, of which there may be Memtables; 0 = 32 MiB. On a small
	// disk it is at most a 128th of the disk. Five logs of that size lie on the disk, four of them to be
	// reused.
	MemtableBytes int64

	// Memtables is the number of memtables at which writes stall until one is flushed; 0 = 4.
	Memtables int

	// SyncInterval is the longest time a Buffered commit stays without a sync;
	// 0 = 100 ms.
	SyncInterval time.Duration

	// ReserveBytes is the free disk space below which commits are refused with
	// ErrDiskFull unless they delete; 0 = 5 % of the disk, at most 2 GiB; negative
	// = none, and no ballast (see diskSpace).
	ReserveBytes int64

	// KeptBytes is the maximum size of the logs that are kept for a backup (KeepWrites); 0 = 8 GiB.
	KeptBytes int64

	// TxnBytesMax and ValueBytesMax bound one transaction and one key or value;
	// 0 = 256 MiB and 64 MiB.
	TxnBytesMax, ValueBytesMax int

	// TxnMemory, if not nil, is the memory budget that the writes of all open transactions share.
	TxnMemory storage.Memory

	// Clock gives timestamps their seconds; nil = timestamps count from 1.
	Clock func() time.Time

	// ReadOnly opens a store, even a damaged one, for reading, and writes nothing. Reads of a damaged
	// table fail; a damaged log is read up to the damage. Commits that write are refused with
	// ErrNotWritable.
	ReadOnly bool

	// DiskFull means that ReadOnly was chosen because the disk is full: commits that write are refused with
	// ErrDiskFull.
	DiskFull bool

	// Damaged is called once for each file that is found to be damaged, while the store is open or is
	// being opened ReadOnly. A damaged store refuses writes.
	Damaged func([]storage.Damage)

	// Log receives Pebble's messages; nil drops them.
	Log func(isError bool, message string)

	// Fatal is called when the store cannot continue (a failed sync of the log must never be repeated). It
	// should flush logs. When it returns, the process exits with status 3.
	Fatal func(message string)

	// StallTries is the number of failed attempts to write a table, while all writes are stalled by it,
	// after which the process ends; 0 = 500, which takes ten seconds. If the disk is full, writes wait
	// without this limit.
	StallTries int

	// Watchdog is the maximum time for a sync or a write: after it Fatal is called and the process ends
	// with status 61; 0 = no limit.
	Watchdog time.Duration

	// Exit ends the process; nil = os.Exit. Tests that simulate the loss of a server set it; when their
	// Exit returns, no client is connected to the store any more.
	Exit func(status int)
}

// defaults returns o with zero fields filled in.
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

// stopDepth is the number of sublevels of level 0 at which writes stall until a compaction ends.
const stopDepth = 24

// pebble returns the options of Pebble. The caller unrefs the cache.
func (o Options) pebble(stalls func(), t *failureHandler) *pebble.Options {
	p := &pebble.Options{
		Cache:                       pebble.NewCache(o.CacheBytes - hotShare(o.CacheBytes)),
		FS:                          o.FS,
		FormatMajorVersion:          pebble.FormatValueSeparation, // pinned: the default is old, and a raised version cannot be lowered
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
			FlushEnd:        func(pebble.FlushInfo) { t.diskSpace.flushed() },
		},
	}
	p.Experimental.SpanPolicyFunc = familyPolicy
	// The first is the size of flushed tables. The second is the size of tables on the next level. It
	// bounds how many bytes of other tables are rewritten when a flushed table moves down: 25 times its
	// size, which is less than one flush.
	p.TargetFileSizes[0] = max(o.MemtableBytes/16, 1<<20)
	p.TargetFileSizes[1] = max(o.MemtableBytes/32, 1<<20)
	for i := range p.Levels {
		// Without a filter on the last level, the check for a duplicate key reads a block for every absent
		// key: 9–31 µs instead of 1.4 µs.
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		p.Levels[i].BlockSize = 8 << 10
		p.Levels[i].IndexBlockSize = 256 << 10
	}
	if !o.InMemory {
		// Tables written by a flush are soon rewritten by a compaction: compressing them in both took 7 %
		// of the time of an insert. Only tables of the change log stay as they were flushed (familyPolicy).
		packed := func() *sstable.CompressionProfile { return sstable.SnappyCompression }
		p.Levels[0].Compression = func() *sstable.CompressionProfile { return &unpacked }
		for i := range p.Levels[1:] {
			p.Levels[i+1].Compression = packed
		}
	}
	return p
}

// familyMeta is the first byte of keys with metadata of callers.
const familyMeta = 'm'

// unpacked does not compress, except for spans whose policy prefers fast compression: with NoCompression
// itself Pebble ignores that policy.
var unpacked = *sstable.NoCompression

// familyStarts are the keys at which tables end: the start and the end of the change log, and the starts
// of the families of callers' keys, which differ in the first byte (storage/keyspace). The log only grows
// at its end, so its tables overlap with no others, and none is merged with tables of earlier or later
// flushes. Without these ends, one table of each flush held the end of one family and the start of the
// next, overlapped with all tables between, and all were written a second time.
var familyStarts = [][]byte{logStart, logEnd, {1}, {'i'}, {'j'}, {familyMeta}, {'n'}, {'r'}, {'s'}}

// familyPolicy returns the key at which a table that begins with key has to end. Tables of the log are
// compressed when they are flushed, because they overlap with no others: they are moved down the levels
// and never rewritten.
func familyPolicy(key []byte) (pebble.SpanPolicy, []byte, error) {
	for _, start := range familyStarts {
		if bytes.Compare(key, start) < 0 {
			return pebble.SpanPolicy{PreferFastCompression: bytes.HasPrefix(key, logStart)}, start, nil
		}
	}
	return pebble.SpanPolicy{}, nil, nil
}
