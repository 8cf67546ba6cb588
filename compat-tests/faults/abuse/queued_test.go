package abuse

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// stopwatch measures the time of a command without the time for which the threads of the server and of this
// process waited for a processor, so that a command does not fail because the machine is busy.
type stopwatch struct {
	pids   [2]int
	begun  time.Time
	queued time.Duration
}

// startWatch starts a stopwatch.
func startWatch(s *harness.Server) stopwatch {
	w := stopwatch{pids: [...]int{s.PID(), os.Getpid()}, begun: time.Now()}
	w.queued = queued(w.pids)
	return w
}

// elapsed returns the time since the start of the stopwatch, as a whole, and without the waiting for a processor.
// The second is at least a quarter of the first: several threads may wait at once, and a command that never ends
// must be found on any machine.
func (w stopwatch) elapsed() (whole, own time.Duration) {
	whole = time.Since(w.begun)
	return whole, max(whole-(queued(w.pids)-w.queued), whole/4)
}

// queued returns the total time for which the threads of some processes were ready to run but had no processor, 0
// on systems whose /proc does not have it.
func queued(pids [2]int) (sum time.Duration) {
	for _, pid := range pids {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, path := range threads {
			text, _ := os.ReadFile(path) // empty if the thread has just ended
			var ran, waited time.Duration
			if _, err := fmt.Sscan(string(text), &ran, &waited); err == nil {
				sum += waited
			}
		}
	}
	return sum
}
