package daemon

import (
	"strings"
	"sync"
)

// recentLines is the number of lines of the log that are kept for getLog; longer lines
// are cut to recentLineBytes.
// Manual: reference/command/getLog.
const (
	recentLines     = 1024
	recentLineBytes = 1024
)

// recentLog keeps the last 1024 lines of the log in memory, at most 1 MiB, for the command getLog. Safe for
// concurrent use.
type recentLog struct {
	mu    sync.Mutex
	ring  [recentLines]string
	total int // lines ever written
}

// Write implements io.Writer for the log: p is one line, of which recentLog keeps a copy. It returns no error.
func (r *recentLog) Write(p []byte) (int, error) {
	line := strings.TrimSuffix(string(p[:min(len(p), recentLineBytes)]), "\n")
	r.mu.Lock()
	r.ring[r.total%recentLines] = line
	r.total++
	r.mu.Unlock()
	return len(p), nil
}

// lines returns the kept lines of the log, oldest first, and the number of lines written since the start.
func (r *recentLog) lines() (last []string, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := max(0, r.total-recentLines); i < r.total; i++ {
		last = append(last, r.ring[i%recentLines])
	}
	return last, r.total
}
