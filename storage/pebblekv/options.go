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

// FS is a file system as Pebble sees it, so that callers can pass one on without
// importing Pebble: the disk, memory, or memory that forgets what was not synced.
type FS = vfs.FS

// Options are the settings of a store. The zero value is a durable store on disk.
type Options struct {
	// InMemory keeps everything in memory, without a write-ahead log; dir is
	// ignored and every commit counts as durable at once.
	InMemory bool

	// FS is the file system; nil is the disk.
	FS FS

	// CacheBytes is the size of the caches; 0 = 128 MiB, in memory 32 MiB. That of blocks
	// lies outside of Go's heap and stays full: what does not fit is likely to be in the
	// system's page cache, which gives way to others. An eighth, at most 64 MiB, is for single
	// values that are read again and again.
	CacheBytes int64

	// MemtableBytes is the size of one memtable, of which there may be Memtables; 0 = 32
	// MiB. On a small disk it is at most a 128th of it. As much lies on the disk for each of five logs,
	// four of them to be used again.
	MemtableBytes int64

	// Memtables is how many memtables there may be before writes wait until one is written
	// out; 0 = 4.
	Memtables int

	// SyncInterval is the longest time a Buffered commit stays without a sync;
	// 0 = 100 ms.
	SyncInterval time.Duration

	// ReserveBytes is the free disk space below which commits are refused with
	// ErrDiskFull unless they delete; 0 = 5 % of the disk, at most 2 GiB; negative
	// = none, and no ballast (see room).
	ReserveBytes int64

	// KeptBytes is the most that logs take which are kept for a backup (KeepWrites); 0 = 8 GiB.
	KeptBytes int64

	// TxnBytesMax and ValueBytesMax bound one transaction and one key or value;
	// 0 = 256 MiB and 64 MiB.
	TxnBytesMax, ValueBytesMax int

	// TxnMemory, if not nil, is what the writes of all open transactions share.
	TxnMemory storage.Memory

	// Clock gives timestamps their seconds; nil = they count from 1.
	Clock func() time.Time

	// ReadOnly opens what can be read of a store, be it damaged, and writes nothing: where
	// a table is damaged, reads fail, and a damaged log is read up to there. Commits that
	// write are refused with ErrNotWritable.
	ReadOnly bool

	// NoRoom says that ReadOnly is for lack of room: commits that write are refused with
	// ErrDiskFull.
	NoRoom bool

	// Damaged is told of each file that is found to be damaged, once, while the store is
	// open or is being opened ReadOnly. A store that is damaged takes no more writes.
	Damaged func([]storage.Damage)

	// Log receives Pebble's messages; nil drops them.
	Log func(isError bool, message string)

	// Fatal is called when the store cannot go on (a failed sync of the log must
	// never be repeated). It should flush logs. The process exits with status 3
	// when it returns.
	Fatal func(message string)

	// StallTries is how often a disk may fail to write a table while all writes wait for that,
	// before the process ends; 0 = 500, which takes ten seconds. For a disk that is full they
	// wait on.
	StallTries int

	// Watchdog is how long a sync or a write may take before the process ends with status 61, after
	// Fatal; 0 = for ever.
	Watchdog time.Duration

	// Exit ends the process; nil = os.Exit. A test that loses a server without ending itself
	// sets it: when it returns nobody listens to the store any more.
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

// pebble returns the engine's settings. The caller unrefs the cache.
func (o Options) pebble(stalls func(), t *troubles) *pebble.Options {
	p := &pebble.Options{
		Cache:                       pebble.NewCache(o.CacheBytes - hotShare(o.CacheBytes)),
		FS:                          o.FS,
		FormatMajorVersion:          pebble.FormatValueSeparation, // pinned: the default is old and going up is one-way
		DisableWAL:                  o.InMemory,
		MemTableSize:                uint64(o.MemtableBytes),
		MemTableStopWritesThreshold: o.Memtables,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       24,
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
			BackgroundError: t.failed,
			FlushEnd:        func(pebble.FlushInfo) { t.room.flushed() },
		},
	}
	p.Experimental.SpanPolicyFunc = families
	// The first is that of flushed tables. The second bounds how far the move of a flushed table to
	// the levels below takes others with it that have nothing to do with it: to 25 times its
	// size, which is less than one flush.
	p.TargetFileSizes[0] = max(o.MemtableBytes/16, 1<<20)
	p.TargetFileSizes[1] = max(o.MemtableBytes/32, 1<<20)
	for i := range p.Levels {
		// Without a filter on the last level a duplicate check reads a block for
		// every absent key: 9–31 µs instead of 1.4 µs.
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		p.Levels[i].BlockSize = 8 << 10
		p.Levels[i].IndexBlockSize = 256 << 10
	}
	if !o.InMemory {
		// What a flush writes is written again by a compaction: packing it twice took 7 % of the time of
		// an insert. Only the log of changes stays as it was flushed (families).
		packed := func() *sstable.CompressionProfile { return sstable.SnappyCompression }
		p.Levels[0].Compression = func() *sstable.CompressionProfile { return &unpacked }
		for i := range p.Levels[1:] {
			p.Levels[i+1].Compression = packed
		}
	}
	return p
}

// familyMeta is the first byte of the keys of what callers note about themselves.
const familyMeta = 'm'

// unpacked packs nothing, but for spans whose policy prefers fast compression: for Pebble that
// does not hold where the profile is NoCompression itself.
var unpacked = *sstable.NoCompression

// familyStarts are where tables end: at the log of changes and its end, and at the
// families of callers' keys, whose first byte tells them apart (storage/keyspace). The log
// only grows at its end, so its tables overlap with no others, and none of them is merged with
// those that a flush wrote before or after: without this, one table of each flush held the end of
// one family and the beginning of the next, overlapped with all between, and all were
// written a second time.
var familyStarts = [][]byte{logStart, logEnd, {1}, {'i'}, {'j'}, {familyMeta}, {'n'}, {'r'}, {'s'}}

// families says how far a table reaches that begins with a key. The log's tables are packed when
// they are flushed: as they overlap with no others they are moved down the levels and never written again.
func families(key []byte) (pebble.SpanPolicy, []byte, error) {
	for _, start := range familyStarts {
		if bytes.Compare(key, start) < 0 {
			return pebble.SpanPolicy{PreferFastCompression: bytes.HasPrefix(key, logStart)}, start, nil
		}
	}
	return pebble.SpanPolicy{}, nil, nil
}
