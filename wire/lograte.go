package wire

import (
	"sync"
	"time"
)

// LogRate limits the number of lines that are logged per second, so that clients cannot fill the log. The zero
// LogRate is ready. Safe for concurrent use.
type LogRate struct {
	mu     sync.Mutex
	second int64
	lines  int
	missed int64
}

// logLinesMax is the number of lines that one LogRate admits in each second.
const logLinesMax = 5

// Admit reports whether a line may be logged now. If it may, missed is the number of lines that were refused since
// the last admitted one.
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
