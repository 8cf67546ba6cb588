package pebblekv

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// exitHung is the status of a process that its watchdog has ended, as mongod's.
const exitHung = 61

const (
	// watchEvery is somewhat more than the time between two looks at what is being done to a file.
	watchEvery = 3 * time.Second
	// lastWords is how long a log that lies on the same disk may take to say why.
	lastWords = 5 * time.Second
)

// watchdog ends the process when the disk holds up a sync or a write of the store for too long: whoever starts it
// again, or stands by, can do something about it, and a process that waits for its disk cannot.
type watchdog struct {
	o     Options
	seen  atomic.Pointer[string] // the path of what was just found to take too long; nil = nothing was
	ended atomic.Bool
}

// watchFiles has a file system watched for Options.Watchdog; the closer ends that.
func watchFiles(files vfs.FS, o Options) (vfs.FS, io.Closer) {
	if o.Watchdog <= 0 {
		return files, io.NopCloser(nil)
	}
	w := &watchdog{o: o}
	return vfs.WithDiskHealthChecks(files, o.Watchdog, nil, w.slow)
}

// slow is called again and again while something takes too long. The first time does not count: a process or
// a machine that was stopped finds, when it goes on, that everything has taken long.
func (w *watchdog) slow(info vfs.DiskSlowInfo) {
	if w.seen.CompareAndSwap(nil, &info.Path) {
		time.AfterFunc(watchEvery, func() { w.seen.Store(nil) })
		return
	}
	if seen := w.seen.Load(); seen == nil || *seen != info.Path || !w.ended.CompareAndSwap(false, true) {
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
	case <-time.After(lastWords):
	}
	w.o.Exit(exitHung)
}
