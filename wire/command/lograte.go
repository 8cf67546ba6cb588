package command

import (
	"sync"
	"time"
)

// logRate lets so many lines a second into the log, whatever clients do. Safe for
// concurrent use.
type logRate struct {
	mu     sync.Mutex
	second int64
	lines  int
	missed int64
}

// logRateMax is how many lines of a kind one second may bring.
const logRateMax = 5

// admit reports whether a line may be logged now, and how many were not since the
// last one.
func (r *logRate) admit(now time.Time) (missed int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := now.Unix(); s != r.second {
		r.second, r.lines = s, 0
	}
	if r.lines >= logRateMax {
		r.missed++
		return 0, false
	}
	r.lines++
	missed, r.missed = r.missed, 0
	return missed, true
}
