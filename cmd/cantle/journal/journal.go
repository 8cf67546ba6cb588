// Package journal records in a file how far a restore or an import has come, so that it can resume after an
// interruption.
package journal

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Journal records in a file how many documents of each namespace have been acknowledged, so that an interrupted
// run can resume. A nil Journal records nothing. Safe for concurrent use.
type Journal struct {
	file *os.File
	mu   sync.Mutex
	done map[string]int64
}

// Open opens a journal, or makes one, and reads the records of earlier runs; the last line of a namespace counts. An
// incomplete last line is ignored. For the path "", Open returns a nil Journal.
func Open(path string) (*Journal, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f, done: map[string]int64{}}
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return j, nil
		}
		number, ns, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil {
			f.Close()
			return nil, fmt.Errorf("%s is no journal of this program: %q", path, line)
		}
		j.done[ns] = n
	}
}

// At returns how many documents of ns are done.
func (j *Journal) At(ns string) int64 {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done[ns]
}

// Set records that n documents of ns are done.
func (j *Journal) Set(ns string, n int64) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done[ns] = n
	_, err := fmt.Fprintf(j.file, "%d %s\n", n, ns)
	return err
}

// Close closes the file.
func (j *Journal) Close() {
	if j != nil {
		j.file.Close()
	}
}
