package wire

import (
	"sync"
	"time"
)

// LogRate lets so many lines a second into the log, whatever clients do. The zero
// LogRate is ready. Safe for concurrent use.
type LogRate struct {
	mu     sync.Mutex
	second int64
	lines  int
	missed int64
}

// logLinesMax is how many lines of a kind one second may bring.
const logLinesMax = 5

// Admit reports whether a line may be logged now, and how many were not since the
// last one.
func (r *LogRate) Admit(now time.Time) (missed int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := now.Unix(); s != r.second {
		r.second, r.lines = s, 0
	}
	if r.lines >= logLinesMax {
		r.missed++
		return 0, false
	}
	r.lines++
	missed, r.missed = r.missed, 0
	return missed, true
}
