package defects

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// Mark is a text in every line of the log about a defect, so that tests can find these lines.
const Mark = "a defect of the server"

// kindsMax is the maximum number of kinds of defects that are logged. Defects of further kinds are only counted.
const kindsMax = 256

// Journal counts defects, and writes them to the log and to files. The zero Journal writes to no
// log and no folder. Safe for concurrent use.
type Journal struct {
	Log     zerolog.Logger
	Folder  string // folder for the files, made before the first file; if empty, stacks are logged
	Version string // of the program, for the files

	panics, errors atomic.Int64
	mu             sync.Mutex
	kinds          map[uint64]int64 // number of defects of each kind
}

// Counts returns the numbers of panics and of unforeseen errors.
func (j *Journal) Counts() (panics, unforeseen int64) { return j.panics.Load(), j.errors.Load() }

// Panic records a panic of a command or a background job. where names it, for example "command find".
func (j *Journal) Panic(where string, value any, stack []byte) {
	j.panics.Add(1)
	n, id := j.count(kindOf(stack))
	what := fmt.Sprint(value)
	switch {
	case n == 1:
		j.first(where, what, id, stack).Str("in", where).Str("panic", what).Msg(Mark + ", a panic, ended this; everything else goes on. Please report it with the file, or the stack")
	case logged(n):
		j.Log.Error().Str("in", where).Str("panic", what).Int64("times", n).Msg(Mark + ", a panic, was met again")
	}
}

// Error records an error that the code did not foresee, as a defect of the server; a mongoerr.Panicked is recorded
// as a panic.
func (j *Journal) Error(where string, err error) {
	if p := (*mongoerr.Panicked)(nil); errors.As(err, &p) {
		j.Panic(where, p.Value, p.Stack)
		return
	}
	j.errors.Add(1)
	n, id := j.count(where + numbers.ReplaceAllString(err.Error(), "0"))
	switch {
	case n == 1:
		j.first(where, err.Error(), id, nil).Str("in", where).Err(err).Msg("command failed unexpectedly: " + Mark + ". Please report it with the file, or this line")
	case logged(n):
		j.Log.Error().Str("in", where).Err(err).Int64("times", n).Msg("command failed unexpectedly again: " + Mark)
	}
}

// Guard calls fn and returns true. If fn panics, Guard records the panic and returns false, so that the server
// continues.
func (j *Journal) Guard(where string, fn func()) (well bool) {
	defer func() {
		if p := recover(); p != nil {
			j.Panic(where, p, debug.Stack())
		}
	}()
	fn()
	return true
}

// count counts one more defect of a kind, and returns the number of defects of this kind and its id; the number is 0
// if there are too many kinds.
func (j *Journal) count(kind string) (n int64, id uint64) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(kind))
	id = h.Sum64()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.kinds == nil {
		j.kinds = map[uint64]int64{}
	}
	if j.kinds[id] == 0 && len(j.kinds) >= kindsMax {
		return 0, id
	}
	j.kinds[id]++
	return j.kinds[id], id
}

// logged reports whether the n-th defect of a kind is logged: only the 1st, 10th, 100th and so on, so that a
// frequent defect does not fill the log.
func logged(n int64) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

// first begins the log line about the first defect of a kind. The line contains the name of the defect's file, or
// the stack if there is no file.
func (j *Journal) first(where, what string, id uint64, stack []byte) *zerolog.Event {
	line := j.Log.Error()
	path, err := j.keep(where, what, id, stack)
	if err != nil {
		line = line.AnErr("notWritten", err)
	}
	if path != "" {
		return line.Str("file", path)
	}
	if stack != nil {
		line = line.Bytes("stack", stack)
	}
	return line
}

var numbers = regexp.MustCompile(`[0-9]+`)

// kindOf returns a stack without the number of the goroutine, the arguments and the addresses, so that panics at the
// same place have the same kind.
func kindOf(stack []byte) string {
	var out strings.Builder
	for line := range bytes.Lines(stack) {
		switch {
		case bytes.HasPrefix(line, []byte("goroutine ")):
			continue
		case bytes.HasPrefix(line, []byte("\t")):
			line, _, _ = bytes.Cut(line, []byte(" +0x"))
		default:
			if at := bytes.LastIndexByte(line, '('); at >= 0 {
				line = line[:at]
			}
			line, _, _ = bytes.Cut(line, []byte(" in goroutine "))
		}
		out.Write(bytes.TrimSpace(line))
		out.WriteByte('\n')
	}
	return out.String()
}
