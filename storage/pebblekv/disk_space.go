package pebblekv

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// diskSpace tracks the free space of the store's disk, and limits how much of it each kind of writer may use. It
// measures the free space after every measureEvery bytes written (1 MiB), and once a second, because other
// programs fill the disk too.
//
//	commits       use space down to the reserve, plus the missing part of the ballast
//	deletes       down to a half, once the change log has been shortened by as much
//	compactions   start above a half, and are aborted at a quarter
//	flushes, log  wait for space: they never fail, and the process goes on
//
// "A half" and "a quarter" are parts of the reserve, or of eight memtables if the reserve is larger than that. If
// less than a half is left for work that frees space, the ballast is deleted.
type diskSpace struct {
	files        vfs.FS // nil in memory
	dir          string
	reserveBytes int64 // Options.ReserveBytes
	// memtable is Options.MemtableBytes, the size of one memtable.
	memtable int64
	log      logger
	ballast  ballast

	measured        atomic.Bool // the free space could be read
	free            atomic.Int64
	total           atomic.Int64
	unflushedBytes  atomic.Int64 // bytes in memtables, not flushed yet
	unmeasuredBytes atomic.Int64 // bytes written since the free space was last measured
	claimedBytes    atomic.Int64 // bytes that large commits in progress will write to the log and to tables
	blockedWriters  atomic.Int64 // number of writers of the log, the manifest or a flush that wait for disk space
	closing         atomic.Bool
	flushEnded      chan struct{} // a flush has ended
	reclaimNeeded   chan struct{} // receives a value when a commit needs reclaim to free space
	compactionNeeds atomic.Int64  // free space below which no compaction starts, set by the last aborted one; 0 = none was aborted lately
}

const (
	measureEvery          = 1 << 20
	spacePause            = 50 * time.Millisecond // between attempts to write
	compactionNeedsExpire = 30 * time.Second      // after an aborted compaction, the time after which one may start again even without that space
)

// errNoSpace is returned to a compaction, to abort it before it uses up the reserve.
var errNoSpace = fmt.Errorf("a compaction waits until there is more room: %w", syscall.ENOSPC)

// open sets the file system and the reserve of the store in dir, and measures the free space of its disk for the
// first time.
func (r *diskSpace) open(o Options, dir string) {
	r.files, r.dir, r.reserveBytes, r.log = o.FS, dir, o.ReserveBytes, logger{o}
	if o.ReadOnly {
		r.reserveBytes = -1
	}
	r.flushEnded, r.reclaimNeeded = make(chan struct{}, 1), make(chan struct{}, 1)
	r.ballast.open(o.FS, dir)
	r.measure()
}

// measure reads the free space from the file system.
func (r *diskSpace) measure() {
	du, err := r.files.GetDiskUsage(r.dir)
	if err != nil {
		return
	}
	r.unmeasuredBytes.Store(0)
	r.free.Store(int64(du.AvailBytes))
	r.total.Store(int64(du.TotalBytes))
	r.measured.Store(true)
}

// addWritten counts n bytes that are written to the disk, and measures the free space again after every MiB.
func (r *diskSpace) addWritten(n int) {
	if r.unmeasuredBytes.Add(int64(n)) >= measureEvery && r.measured.Load() {
		r.measure()
	}
}

// reserve returns the number of bytes of the disk that are to be kept free, 0 if there is no reserve.
func (r *diskSpace) reserve() int64 {
	switch {
	case r.reserveBytes < 0 || !r.measured.Load():
		return 0
	case r.reserveBytes > 0:
		return r.reserveBytes
	}
	return int64(storage.DiskReserve(uint64(r.total.Load())))
}

// left returns the bytes of the disk that will be free once all large commits in progress have ended and all
// memtables are flushed.
func (r *diskSpace) left() int64 {
	return r.free.Load() - r.unflushedBytes.Load() - r.unmeasuredBytes.Load() - r.claimedBytes.Load()
}

// claim reserves disk space for a commit of so many bytes, if it is large, and returns how much the caller must
// subtract from claimedBytes at its end. Without the claim, a large commit that begins just above the reserve
// would use all of the reserve: then the flush would have no space, and all writes would wait for the flush. For
// commits of less than 512 KiB it returns 0: the reserve itself is enough.
func (r *diskSpace) claim(bytes int) int64 {
	n := 2 * int64(bytes) // once in the write-ahead log, once in a table
	if n < measureEvery {
		return 0
	}
	r.claimedBytes.Add(n)
	return n
}

// reservePart returns an n-th of the reserve, or of eight memtables if that is less: background work needs no more
// free space. Unit: bytes.
func (r *diskSpace) reservePart(n int64) int64 { return min(r.reserve(), 8*r.memtable) / n }

// hasLeft reports whether at least so many bytes of the disk are left for writes, or the store has no reserve.
func (r *diskSpace) hasLeft(bytes int64) bool { return r.left() >= bytes || r.reserve() == 0 }

// full reports whether less than the reserve and the missing part of the ballast is left: then commits that add
// data are refused.
func (r *diskSpace) full() bool {
	reserve := r.reserve()
	return reserve > 0 && r.left() < reserve+r.ballast.missing.Load()
}

// nearlyFull reports whether less than twice the reserve and the missing part of the ballast is left: then the
// ranges of deleted keys are recorded, so that a compaction can free them soon when the disk is full.
func (r *diskSpace) nearlyFull() bool {
	reserve := r.reserve()
	return reserve > 0 && r.left() < 2*reserve+r.ballast.missing.Load()
}

// isBlocked reports whether a writer of the log, the manifest or a flush waits, because the disk has no space at
// all.
func (r *diskSpace) isBlocked() bool { return r.blockedWriters.Load() > 0 }

// mayCompact reports whether there is enough disk space to start a compaction: at least reservePart(2), and over a
// quarter more than the last aborted compaction needed.
func (r *diskSpace) mayCompact() bool {
	if !r.hasLeft(r.reservePart(2)) {
		return false
	}
	w := r.compactionNeeds.Load()
	return w == 0 || r.left() > w+w/4
}

// checkCompaction returns errNoSpace, which aborts a running compaction, if less than reservePart(4) is left. It
// stores how much space would have been needed, for mayCompact.
func (r *diskSpace) checkCompaction() error {
	if r.hasLeft(r.reservePart(4)) {
		return nil
	}
	if r.compactionNeeds.Swap(max(r.left(), 1)+r.reservePart(4)) == 0 {
		time.AfterFunc(compactionNeedsExpire, func() { r.compactionNeeds.Store(0) })
	}
	return errNoSpace
}

// releaseBallastIfLow deletes the ballast if less than reservePart(2) would be left after a write of beside more
// bytes, and reports whether it did.
func (r *diskSpace) releaseBallastIfLow(beside int64) bool {
	r.measure()
	return r.reserve() > 0 && r.left()-beside < r.reservePart(2) && r.releaseBallast()
}

// releaseBallast deletes the ballast to free its space, and reports whether it did.
func (r *diskSpace) releaseBallast() bool {
	if !r.ballast.release() {
		return false
	}
	r.log.Errorf("the disk is full: the ballast is deleted, so that deletes and drops have room; writes that add are refused until there is room for it again")
	r.compactionNeeds.Store(0)
	r.measure()
	return true
}

// retryWhileFull runs do, a file operation without which the store cannot continue. While do fails because the
// disk is full, it deletes the ballast, else waits, and retries. It returns the result of do; the error of a full
// disk only if the store is being closed.
func (r *diskSpace) retryWhileFull(do func() error) error {
	err := do()
	if !storage.IsDiskFull(err) || r.files == nil {
		return err
	}
	r.blockedWriters.Add(1)
	defer r.blockedWriters.Add(-1)
	for said := false; storage.IsDiskFull(err) && !r.closing.Load(); err = do() {
		if r.releaseBallast() {
			continue
		}
		if !said {
			r.log.Errorf("the disk is full: all writes wait until there is room; reads go on")
			said = true
		}
		time.Sleep(spacePause)
		r.measure()
	}
	return err
}

// waitForSpace blocks a flush until as many bytes are free as its next table needs, it has deleted the ballast, or
// the store is being closed.
func (r *diskSpace) waitForSpace(bytes int64) {
	for r.measured.Load() && !r.closing.Load() {
		r.measure()
		if r.free.Load() >= bytes || r.releaseBallast() {
			return
		}
		time.Sleep(spacePause)
	}
}

// flushed signals that a flush has ended.
func (r *diskSpace) flushed() {
	if r != nil {
		signal(r.flushEnded)
	}
}

// signal puts a value into a channel of capacity one, if it is empty: its receiver runs once for many signals.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// openSpace is the disk space in bytes that opening a store needs besides the tables made from its logs: for a
// manifest, an options file and the start of a log.
const openSpace = 512 << 10

// checkSpaceToOpen checks that the disk has space to open the store, which writes the unflushed bytes of its logs
// into tables; it deletes the ballast if necessary. Errors: DiskFullError, with the needed and the free space.
func (s *store) checkSpaceToOpen(unflushed int64) error {
	r, need := &s.diskSpace, unflushed+unflushed/8+openSpace
	if r.reserve() == 0 || r.free.Load() >= need || r.releaseBallast() && r.free.Load() >= need {
		return nil
	}
	return &storage.DiskFullError{Need: uint64(need), Free: uint64(max(r.free.Load(), 0))}
}
