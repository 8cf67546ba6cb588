package wire

import (
	"sync"
	"time"
)

// LogRate limits the lines that are logged per second, whatever clients do. The zero
// LogRate is ready. Safe for concurrent use.
type LogRate struct {
	mu     sync.Mutex
	second int64
	lines  int
	missed int64
}

// logLinesMax is the number of lines of a kind per second.
const logLinesMax = 5

// Admit reports whether a line may be logged now, and how many were dropped since the
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
