// Package journal records in a file how far a restore or an import has come, so that it can resume after an
// interruption.
package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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
	size int64 // bytes of the complete lines
}

// Open opens a journal, or makes one, and reads the records of earlier runs; the last line of a namespace counts. An
// incomplete last line, which an interruption can leave, is cut off. For the path "", Open returns a nil Journal.
//
// Errors: those of the file; a line that no journal contains.
func Open(path string) (*Journal, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f, done: map[string]int64{}}
	if err := j.read(); err != nil {
		f.Close()
		return nil, err
	}
	return j, nil
}

// read reads the complete lines and cuts off what follows them.
func (j *Journal) read() error {
	r := bufio.NewReader(j.file)
	for {
		line, err := r.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF) && strings.Trim(line[:min(1, len(line))], "0123456789") == "":
			return j.file.Truncate(j.size)
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		number, ns, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil {
			return fmt.Errorf("%s is no journal of this program: %q", j.file.Name(), line)
		}
		j.done[ns] = n
		j.size += int64(len(line))
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

// Set records that n documents of ns are done. A line that could not be written completely is replaced by the next.
func (j *Journal) Set(ns string, n int64) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done[ns] = n
	line := fmt.Appendf(nil, "%d %s\n", n, ns)
	if _, err := j.file.WriteAt(line, j.size); err != nil {
		return err
	}
	j.size += int64(len(line))
	return nil
}

// Close closes the file.
func (j *Journal) Close() {
	if j != nil {
		j.file.Close()
	}
}
