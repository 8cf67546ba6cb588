package pebblekv

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// room is the free space of the disk and what of it everybody who writes may use. Each of
// them looks again after lookEvery bytes, and the store once a second, as others fill
// disks too.
//
//	commits       down to the reserve, and to what lacks of the ballast
//	deletes       down to a half, once the change log has been shortened by as much
//	compactions   are begun above a half, and given up at a quarter
//	flushes, log  wait for room if there is none: they never fail, and the process goes on
//
// Halves and quarters are of the reserve, or of eight memtables where it is larger. Whoever makes
// room, and finds less than a half, has the ballast let go.
type room struct {
	files vfs.FS // nil in memory
	dir   string
	kept  int64 // Options.ReserveBytes
	// memtable is how large one is.
	memtable int64
	log      logger
	ballast  ballast

	known   atomic.Bool // the file system says how much there is
	free    atomic.Int64
	total   atomic.Int64
	owed    atomic.Int64 // bytes in memtables, which a flush has yet to write
	unseen  atomic.Int64 // bytes written since free was looked at
	coming  atomic.Int64 // bytes that large commits under way will write, into the log and into tables
	starved atomic.Int64 // writers of the log or the list of tables that wait for room
	closing atomic.Bool
	changed chan struct{} // a flush has ended
	asked   chan struct{} // somebody makes room
	wanted  atomic.Int64  // what a compaction found too little of; 0 = none did
}

const (
	lookEvery  = 1 << 20
	roomPause  = 50 * time.Millisecond // between tries to write
	wantedOnly = 30 * time.Second      // for so long a compaction that found too little is not tried again
)

// errNoRoom ends a compaction that would use up the reserve.
var errNoRoom = fmt.Errorf("a compaction waits until there is more room: %w", syscall.ENOSPC)

// open begins to watch the disk of a store.
func (r *room) open(o Options, dir string) {
	r.files, r.dir, r.kept, r.log = o.FS, dir, o.ReserveBytes, logger{o}
	if o.ReadOnly {
		r.kept = -1
	}
	r.changed, r.asked = make(chan struct{}, 1), make(chan struct{}, 1)
	r.ballast.open(o.FS, dir)
	r.look()
}

// look asks the file system how much room there is.
func (r *room) look() {
	du, err := r.files.GetDiskUsage(r.dir)
	if err != nil {
		return
	}
	r.unseen.Store(0)
	r.free.Store(int64(du.AvailBytes))
	r.total.Store(int64(du.TotalBytes))
	r.known.Store(true)
}

// wrote counts bytes on their way to the disk.
func (r *room) wrote(n int) {
	if r.unseen.Add(int64(n)) >= lookEvery && r.known.Load() {
		r.look()
	}
}

// reserve is what is kept free, 0 for nothing.
func (r *room) reserve() int64 {
	switch {
	case r.kept < 0 || !r.known.Load():
		return 0
	case r.kept > 0:
		return r.kept
	}
	return int64(storage.DiskReserve(uint64(r.total.Load())))
}

// left is what is free when all large commits under way have ended and all memtables have been flushed.
func (r *room) left() int64 {
	return r.free.Load() - r.owed.Load() - r.unseen.Load() - r.coming.Load()
}

// claim counts a commit of so many bytes, and returns what the caller takes off coming when it has ended.
// Without it, one large commit that begins just above the reserve uses all of it: then the flush has
// no room, and all writes wait for the flush. The reserve itself is enough for small ones.
func (r *room) claim(bytes int) int64 {
	n := 2 * int64(bytes) // the log of writes keeps them until they lie in a table
	if n < lookEvery {
		return 0
	}
	r.coming.Add(n)
	return n
}

// part is a part of the reserve; of a large one a part of what background work takes, which is
// a few memtables.
func (r *room) part(n int64) int64 { return min(r.reserve(), 8*r.memtable) / n }

// above reports that so much of the reserve is left.
func (r *room) above(bytes int64) bool { return r.left() >= bytes || r.reserve() == 0 }

// full reports that nothing may be added.
func (r *room) full() bool {
	reserve := r.reserve()
	return reserve > 0 && r.left() < reserve+r.ballast.lacking.Load()
}

// low reports that the disk may soon be full: what is deleted from now on is to be compacted then.
func (r *room) low() bool {
	reserve := r.reserve()
	return reserve > 0 && r.left() < 2*reserve+r.ballast.lacking.Load()
}

// stuck reports that not even the log can be written.
func (r *room) stuck() bool { return r.starved.Load() > 0 }

// compacts reports that a compaction may begin.
func (r *room) compacts() bool {
	if !r.above(r.part(2)) {
		return false
	}
	w := r.wanted.Load()
	return w == 0 || r.left() > w+w/4
}

// compacting ends a compaction that would use up the reserve.
func (r *room) compacting() error {
	if r.above(r.part(4)) {
		return nil
	}
	if r.wanted.Swap(max(r.left(), 1)+r.part(4)) == 0 {
		time.AfterFunc(wantedOnly, func() { r.wanted.Store(0) })
	}
	return errNoRoom
}

// relieve lets the ballast go if a half of the reserve is not left beside so many bytes, and
// reports whether it did.
func (r *room) relieve(beside int64) bool {
	r.look()
	return r.reserve() > 0 && r.left()-beside < r.part(2) && r.letGo()
}

// letGo lets the ballast go, and reports whether there was one.
func (r *room) letGo() bool {
	if !r.ballast.release() {
		return false
	}
	r.log.Errorf("the disk is full: the ballast is let go, so that deletes and drops can make room; writes are refused until there is room for it again")
	r.wanted.Store(0)
	r.look()
	return true
}

// persist does what has to be done for the store to go on, and waits for room if there is
// none. Errors: those of do; without room only when the store is closed.
func (r *room) persist(do func() error) error {
	err := do()
	if !noRoom(err) || r.files == nil {
		return err
	}
	r.starved.Add(1)
	defer r.starved.Add(-1)
	for said := false; noRoom(err) && !r.closing.Load(); err = do() {
		if r.letGo() {
			continue
		}
		if !said {
			r.log.Errorf("the disk is full: all writes wait until there is room; reads go on")
			said = true
		}
		time.Sleep(roomPause)
		r.look()
	}
	return err
}

// await holds a flush until there are so many bytes, which it needs next.
func (r *room) await(bytes int64) {
	for r.known.Load() && !r.closing.Load() {
		r.look()
		if r.free.Load() >= bytes || r.letGo() {
			return
		}
		time.Sleep(roomPause)
	}
}

// flushed says that memtables hold less.
func (r *room) flushed() {
	if r != nil {
		poke(r.changed)
	}
}

// poke leaves a mark in a channel that holds one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// openRoom is what an opening needs beside the tables that it makes of logs: a list of tables, settings,
// the beginning of a log.
const openRoom = 512 << 10

// roomToOpen makes room for an opening that writes so many bytes of logs into tables.
// Errors: NoRoomError.
func (s *store) roomToOpen(unflushed int64) error {
	r, need := &s.room, unflushed+unflushed/8+openRoom
	if r.reserve() == 0 || r.free.Load() >= need || r.letGo() && r.free.Load() >= need {
		return nil
	}
	return &storage.NoRoomError{Need: uint64(need), Free: uint64(max(r.free.Load(), 0))}
}
