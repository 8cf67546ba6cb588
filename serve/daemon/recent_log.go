package daemon

import (
	"strings"
	"sync"
)

// recentLines is how many lines of the log are kept for getLog, and recentLineBytes how
// long one may be. Manual: reference/command/getLog.
const (
	recentLines     = 1024
	recentLineBytes = 1024
)

// recentLog keeps the last lines of the log. Safe for concurrent use; it holds 1 MiB at
// most.
type recentLog struct {
	mu    sync.Mutex
	ring  [recentLines]string
	total int // lines ever written
}

// Write implements io.Writer: p is one line. It keeps a copy and cannot fail.
func (r *recentLog) Write(p []byte) (int, error) {
	line := strings.TrimSuffix(string(p[:min(len(p), recentLineBytes)]), "\n")
	r.mu.Lock()
	r.ring[r.total%recentLines] = line
	r.total++
	r.mu.Unlock()
	return len(p), nil
}

// lines returns the last lines, oldest first, and how many there have been since the
// start.
func (r *recentLog) lines() (last []string, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := max(0, r.total-recentLines); i < r.total; i++ {
		last = append(last, r.ring[i%recentLines])
	}
	return last, r.total
}
