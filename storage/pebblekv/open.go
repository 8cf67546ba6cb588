package pebblekv

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
	"github.com/cantledb/cantle/storage/writebuf"
)

// Open opens the Pebble store in the folder dir, and creates it if there is none. Errors: ErrLocked if it is open
// already, ErrFormat if a newer program wrote it, DamagedError, DiskFullError, errors of the file system.
func Open(dir string, o Options) (storage.Store, error) {
	o = o.defaults()
	if o.InMemory {
		dir = "memory"
	}
	s := &store{
		o: o, dir: dir,
		seed:      maphash.MakeSeed(),
		hot:       newHotCache(hotShare(o.CacheBytes)),
		txnConfig: writebuf.Config{Bounds: writebuf.Bounds{Txn: o.TxnBytesMax, Value: o.ValueBytesMax}, Memory: o.TxnMemory, Latches: writebuf.NewLatches()},
		stop:      make(chan struct{}),
	}
	s.conflicts.last = map[uint64]storage.Timestamp{}
	s.marks.of = map[string]storage.Timestamp{}
	s.buffers.New = func() any { return new(work) }
	end, err := s.openPebble()
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	err = s.recover()
	if err == nil {
		err = s.noteEnd(end)
	}
	if err == nil && !s.o.ReadOnly && !s.o.InMemory {
		err = translate(filescan.EndCreate(s.o.FS, dir))
	}
	if err != nil {
		err = errors.Join(err, s.db.Close(), s.lock.Close())
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	s.syncer.start(s)
	s.updateSpace()
	s.stopped.Go(s.background)
	if !s.o.InMemory && !s.o.ReadOnly {
		s.stopped.Go(s.reclaim)
	}
	if o.Follow {
		return &follower{s, storage.MembershipOf(s)}, nil
	}
	return s, nil
}

// openPebble locks the folder of the store and opens Pebble in it. It returns the sequence number after the last
// write in the write-ahead logs, 0 if no logs are kept for a backup.
func (s *store) openPebble() (end uint64, err error) {
	if !s.o.ReadOnly {
		if err := MakeFolder(s.o.FS, s.dir); err != nil {
			return 0, translate(err)
		}
	}
	if _, err := s.o.FS.Stat(s.o.FS.PathJoin(s.dir, "LOCK")); errors.Is(err, fs.ErrNotExist) && !s.o.ReadOnly && !s.o.InMemory {
		if err := filescan.BeginCreate(s.o.FS, s.dir); err != nil {
			return 0, translate(err)
		}
	}
	locking := s.o.FS
	if s.o.ReadOnly {
		locking = filescan.ForReading(locking)
	}
	lock, err := lockFolder(s.dir, locking)
	if err != nil {
		return 0, translate(err)
	}
	s.retained = newRetainingFS(s.o.FS, s.dir, s.o.KeptBytes)
	if !s.o.InMemory {
		s.diskSpace.open(s.o, s.dir)
		if s.diskSpace.measured.Load() {
			s.o.MemtableBytes = min(s.o.MemtableBytes, max(s.diskSpace.total.Load()/memtableShare, 1<<20))
		}
		s.diskSpace.memtable = s.o.MemtableBytes
	}
	t := &failureHandler{log: logger{s.o}, now: s.o.Clock, diskSpace: &s.diskSpace, logBytes: s.o.MemtableBytes + s.o.MemtableBytes/10}
	t.opening.Store(true)
	defer t.opening.Store(false)
	po := s.o.pebble(func() { s.stalls.Add(1) }, t)
	po.EventListener.DataCorruption = s.onCorruption
	po.EventListener.FlushEnd = func(f pebble.FlushInfo) {
		t.diskSpace.flushed()
		s.unflushed.drop(f)
	}
	po.Experimental.SpanPolicyFunc = s.spanPolicy
	scheduler := newCompactionScheduler(t)
	po.Experimental.CompactionScheduler = scheduler
	defer po.Cache.Unref()
	po.Lock = lock
	if end, err = s.openEngine(po, t); err != nil {
		scheduler.Unregister()
		_ = lock.Close()
		return 0, err
	}
	s.lock = lock
	if !s.o.InMemory && !s.o.ReadOnly {
		if s.syncer.mark, err = filescan.OpenMark(s.o.FS, s.dir); err != nil {
			return 0, errors.Join(translate(err), s.db.Close(), lock.Close())
		}
	}
	return end, nil
}

// MakeFolder creates a folder and its parents, and syncs the parent of each folder that it creates. Without these
// syncs a power cut could lose the new folder with everything that was synced inside. If files is nil, the disk is
// used. Errors: errors of the file system.
func MakeFolder(files FS, dir string) error {
	files = orElse(files, vfs.Default)
	var parents []string
	for at := dir; ; at = files.PathDir(at) {
		parent := files.PathDir(at)
		if _, err := files.Stat(at); err == nil || parent == at {
			break
		}
		parents = append(parents, parent)
	}
	if err := files.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := syncFolder(files, parent); err != nil {
			return err
		}
	}
	return nil
}

// LockFolder locks the folder of a store against other processes that lock it too, until the returned lock is
// closed. Errors: storage.ErrLocked if one holds the lock, errors of the file system.
func LockFolder(dir string) (*pebble.Lock, error) { return lockFolder(dir, vfs.Default) }

// lockFolder is LockFolder for a given file system. Errors: ErrLocked, errors of the file system.
func lockFolder(dir string, files vfs.FS) (*pebble.Lock, error) {
	lock, err := pebble.LockDirectory(dir, files)
	// If the other store is in this process, Pebble's error is only a text.
	if err != nil && (errors.Is(err, syscall.EAGAIN) || err.Error() == "lock held by current process") {
		return nil, fmt.Errorf("%w (%v)", storage.ErrLocked, err)
	}
	return lock, err
}

// recover checks the stored format version, and sets the timestamp of the newest state: the stored ceiling or the
// clock, whichever is later. So no timestamp of an earlier process is assigned again. A store that follows another one
// has the timestamp of the last write that was applied to it.
func (s *store) recover() error {
	if err := s.checkFormat(); err != nil {
		return err
	}
	stored, err := s.read(keyCeiling)
	latest := storage.Timestamp(1)
	if err == nil {
		if s.ceiling, err = decodeTimestamp(stored); err != nil {
			return err
		}
		latest = max(latest, s.ceiling)
	} else if !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if latest, err = s.recoverPosition(max(latest, s.clock())); err != nil {
		return err
	}
	s.latest.Store(uint64(latest))
	s.conflicts.horizon = latest
	s.snaps.newest = &snap{ts: latest}
	s.snaps.head = s.snaps.newest
	return nil
}

// synced returns Pebble's options for the engine's own rare writes: with a sync, except in memory.
func (s *store) synced() *pebble.WriteOptions {
	if s.o.InMemory {
		return pebble.NoSync
	}
	return pebble.Sync
}

// read returns a copy of the newest value of one of the engine's own keys.
func (s *store) read(key []byte) ([]byte, error) {
	v, closer, err := s.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, storage.ErrNotFound
	}
	if err != nil {
		return nil, s.translate(err)
	}
	v = append([]byte(nil), v...)
	return v, closer.Close()
}
