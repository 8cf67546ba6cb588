package cli

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// journal remembers in a file how many documents of each namespace have been
// acknowledged, so that a run that was interrupted can go on. A nil journal
// remembers nothing. Safe for concurrent use.
type journal struct {
	file *os.File
	mu   sync.Mutex
	done map[string]int64
}

// openJournal reads what earlier runs wrote; the last line of a namespace counts. An
// incomplete last line is passed over.
func openJournal(path string) (*journal, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j := &journal{file: f, done: map[string]int64{}}
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

func (j *journal) at(ns string) int64 {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done[ns]
}

// set writes down that so many documents of ns are done.
func (j *journal) set(ns string, n int64) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done[ns] = n
	_, err := fmt.Fprintf(j.file, "%d %s\n", n, ns)
	return err
}

func (j *journal) close() {
	if j != nil {
		j.file.Close()
	}
}
