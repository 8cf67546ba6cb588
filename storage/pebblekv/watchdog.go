package pebblekv

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// exitHung is the exit status of a process that its watchdog ends; mongod has the same.
const exitHung = 61

const (
	// watchEvery is somewhat more than the interval at which Pebble checks the duration of pending file
	// operations.
	watchEvery = 3 * time.Second
	// fatalTimeout is the maximum time for logging the reason before the process ends: the log may lie on the same
	// hanging disk.
	fatalTimeout = 5 * time.Second
)

// watchdog ends the process if one operation that changes a file of the store takes longer than Options.Watchdog.
// Then a supervisor can restart the process or switch to another machine; a process that waits for its disk cannot
// do anything.
type watchdog struct {
	o       Options
	suspect atomic.Pointer[string] // path of the file whose operation was just found to take too long; nil = none was
	ended   atomic.Bool
}

// watchFiles returns a file system that a watchdog watches if Options.Watchdog is above 0, and a closer that ends
// the watch.
func watchFiles(files vfs.FS, o Options) (vfs.FS, io.Closer) {
	if o.Watchdog <= 0 {
		return files, io.NopCloser(nil)
	}
	w := &watchdog{o: o}
	return vfs.WithDiskHealthChecks(files, o.Watchdog, nil, w.slow)
}

// slow is called repeatedly while a file operation takes longer than Options.Watchdog. The second call for the
// same file within three seconds ends the process. The first call does not count: after a process or machine was
// paused, all pending operations seem to have taken long.
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
