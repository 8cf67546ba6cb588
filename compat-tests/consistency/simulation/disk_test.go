package simulation

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/faultkv"
)

// disk is the disk of one life of a server.
type disk struct {
	files *vfs.MemFS

	mu      sync.Mutex
	rng     *rand.Rand
	slowest time.Duration // the maximum duration of a sync of the log
	failAt  int           // the number of the write operation that fails, 0 = none
	ops     int
	failed  bool
	halt    func()     // called where the process would end
	left    *vfs.MemFS // the contents of the disk at that moment
}

// MaybeError implements errorfs.Injector: at the write operation with the number failAt it returns an error, or calls
// halt if a real server would end. It does not sleep, because its caller may hold a lock, and waiting for a lock stops
// virtual time.
func (d *disk) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	d.mu.Lock()
	d.ops++
	fails := d.failAt > 0 && d.ops == d.failAt
	d.failed = d.failed || fails
	d.mu.Unlock()
	switch {
	case !fails:
		return nil
	case op.Kind == errorfs.OpRemove, strings.HasSuffix(op.Path, ".sst"), strings.HasSuffix(op.Path, "SYNCED"):
		return syscall.EIO
	}
	// A real server process would end at this write, as one does whose log cannot be written (TestLogThatFails of
	// package pebblekv). The simulated one cannot end: the write succeeds and it continues, but halt has kept the
	// contents of the disk at this moment for the next life, and its clients get no more replies.
	d.halt()
	return nil
}

// String implements errorfs.Injector.
func (d *disk) String() string { return "disk" }

// heal ends the faults of the disk after a power cut, because the files of the next life are already chosen.
func (d *disk) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failAt, d.slowest = 0, time.Nanosecond
}

// fs returns the disk as the store sees it.
func (d *disk) fs() vfs.FS { return errorfs.Wrap(d.files, d) }

// slow is a store with delays.
type slow struct {
	*faultkv.Store
	disk *disk
}

// slowed returns a store in which many commits of documents, and all syncs, are delayed, so that other clients run in
// between. Other commits are not delayed, because background work makes them while it holds locks.
func slowed(s storage.Store, d *disk, seed uint64) storage.Store {
	var rules []faultkv.Rule
	document := func(key []byte) bool { return len(key) > 0 && key[0] == 'r' }
	for _, delay := range []time.Duration{100 * time.Microsecond, 700 * time.Microsecond, 3 * time.Millisecond, 20 * time.Millisecond} {
		rules = append(rules, faultkv.Rule{Op: faultkv.Commit, Probability: 0.15, Delay: delay, Key: document})
	}
	return &slow{faultkv.New(s, seed, rules...), d}
}

// Sync implements storage.Store.
func (s *slow) Sync(ctx context.Context) error {
	s.disk.mu.Lock()
	wait := time.Duration(s.disk.rng.Int64N(int64(s.disk.slowest)))
	s.disk.mu.Unlock()
	time.Sleep(wait)
	return s.Store.Sync(ctx)
}
