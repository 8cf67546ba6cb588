package pebblekv

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// exitHung is the exit status of a process ended by its watchdog, the same as mongod's.
const exitHung = 61

const (
	// watchEvery is somewhat more than the interval at which pending file operations are checked.
	watchEvery = 3 * time.Second
	// fatalTimeout limits the time for writing the reason to a log, which may lie on the same disk.
	fatalTimeout = 5 * time.Second
)

// watchdog ends the process if a sync or a write of the store takes too long. A supervisor can restart the
// process or switch to another machine; a process that waits for its disk cannot do anything.
type watchdog struct {
	o       Options
	suspect atomic.Pointer[string] // path of the operation just found to take too long; nil = none was
	ended   atomic.Bool
}

// watchFiles watches a file system for Options.Watchdog; closing the closer ends that.
func watchFiles(files vfs.FS, o Options) (vfs.FS, io.Closer) {
	if o.Watchdog <= 0 {
		return files, io.NopCloser(nil)
	}
	w := &watchdog{o: o}
	return vfs.WithDiskHealthChecks(files, o.Watchdog, nil, w.slow)
}

// slow is called repeatedly while an operation takes too long. The first call does not count: after a process
// or machine was paused, all pending operations seem to have taken long.
func (w *watchdog) slow(info vfs.DiskSlowInfo) {
	if w.suspect.CompareAndSwap(nil, &info.Path) {
		time.AfterFunc(watchEvery, func() { w.suspect.Store(nil) })
		return
	}
	if seen := w.suspect.Load(); seen == nil || *seen != info.Path || !w.ended.CompareAndSwap(false, true) {
		return
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		if w.o.Fatal != nil {
			w.o.Fatal(fmt.Sprintf("the disk has not ended a %s of %s for %d seconds, and the watchdog ends the process after %v; "+
				"look at the disk, and start the server again: nothing that was acknowledged is lost", info.OpType, info.Path, int(info.Duration.Seconds()), w.o.Watchdog))
		}
	}()
	select {
	case <-said:
	case <-time.After(fatalTimeout):
	}
	w.o.Exit(exitHung)
}
