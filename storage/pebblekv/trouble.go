package pebblekv

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// logger passes Pebble's messages on.
type logger struct{ o Options }

func (l logger) Infof(format string, args ...any) {
	if l.o.Log != nil {
		l.o.Log(false, fmt.Sprintf(format, args...))
	}
}

func (l logger) Errorf(format string, args ...any) {
	if l.o.Log != nil {
		l.o.Log(true, fmt.Sprintf(format, args...))
	}
}

// Fatalf does not return, unless Exit does: Pebble's goroutines would wait for ever.
func (l logger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, a := range args {
		if err, ok := a.(error); ok && noRoom(err) {
			text += "; make room on the disk and start again: nothing that was acknowledged is lost"
		}
	}
	if l.o.Fatal != nil {
		l.o.Fatal(text)
	}
	l.o.Exit(3)
}

// Pebble repeats a failed flush or compaction at once, for as long as it fails: some
// hundred times a second, each of which it reports.
const (
	troublePause = 20 * time.Millisecond // between tries
	troubleEvery = 10 * time.Second      // between messages
	damagePause  = time.Second           // between tries to read what is damaged
	openingTries = 5                     // of background work while the store is being opened
)

// troubles hears of the background work that fails.
type troubles struct {
	log     logger
	now     func() time.Time // nil: every failure is said
	pause   pause            // of the work that failed
	opening atomic.Bool      // Pebble is about to open, and nobody can make it stop
	tries   atomic.Int64     // that failed meanwhile
	room    *room
	// logBytes is how long a log becomes, for which space is kept when it is begun.
	logBytes int64
	stalled  atomic.Int64 // one more than what failed while all writes wait for a table; 0 = they do not

	mu     sync.Mutex
	said   time.Time
	unsaid int
}

// failed says it, unless it has said so lately, and holds up the next try. A disk that
// does not take the flush that ends an opening ends the process: who opens the store would
// wait for as long as the disk errs. Damage does not: no flush reads tables, and what looks
// at them meanwhile is nothing that an opening waits for.
func (t *troubles) failed(err error) {
	damage := pebble.IsCorruptionError(err)
	if t.opening.Load() && !damage && (noRoom(err) || t.tries.Add(1) > openingTries) {
		t.log.Fatalf("the store cannot be opened: %v", err)
	}
	if n := t.stalled.Load(); n > 0 && !noRoom(err) && t.stalled.CompareAndSwap(n, n+1) && n > int64(t.log.o.StallTries) {
		t.log.Fatalf("writes wait for tables that cannot be written: %v", err)
	}
	if damage { // it is told where it was found, once
		t.pause.extend(damagePause)
		return
	}
	if text := t.message(err); text != "" {
		t.log.Errorf("%s", text)
	}
	t.pause.extend(troublePause)
}

// message is what to log of an error, "" for nothing.
func (t *troubles) message(err error) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		return fmt.Sprintf("background work failed and is tried again: %v", err)
	}
	now := t.now()
	if !t.said.IsZero() && now.Sub(t.said) < troubleEvery {
		t.unsaid++
		return ""
	}
	text := fmt.Sprintf("background work failed and is tried again: %v", err)
	if t.unsaid > 0 {
		text += fmt.Sprintf(" (and %d failures since the last message)", t.unsaid)
	}
	t.said, t.unsaid = now, 0
	return text
}
