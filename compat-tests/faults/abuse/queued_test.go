package abuse

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// stopwatch measures the time of a command without the time for which the threads of the server and of this process waited for a
// processor, which other processes had: on a busy machine it is the machine that is late, and not the command.
type stopwatch struct {
	pids   [2]int
	begun  time.Time
	queued time.Duration
}

// startWatch starts one.
func startWatch(s *harness.Server) stopwatch {
	w := stopwatch{pids: [...]int{s.PID(), os.Getpid()}, begun: time.Now()}
	w.queued = queued(w.pids)
	return w
}

// elapsed returns the time since the start, and what is left of it without the waiting: a quarter at least, as several threads
// may wait at once, and as a command that never ends has to be found on any machine.
func (w stopwatch) elapsed() (whole, own time.Duration) {
	whole = time.Since(w.begun)
	return whole, max(whole-(queued(w.pids)-w.queued), whole/4)
}

// queued returns for how long the threads of processes have been ready to run but not running, all together, and 0 where /proc
// does not have it.
func queued(pids [2]int) (sum time.Duration) {
	for _, pid := range pids {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, path := range threads {
			text, _ := os.ReadFile(path) // none of a thread that has just ended
			var ran, waited time.Duration
			if _, err := fmt.Sscan(string(text), &ran, &waited); err == nil {
				sum += waited
			}
		}
	}
	return sum
}
