package pebblekv

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
)

// logger forwards Pebble's messages to Options.Log.
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

// warn passes a warning to Options.Warn.
func (l logger) warn(text string) {
	if l.o.Warn != nil {
		l.o.Warn(text)
	}
}

// Fatalf passes a message to Options.Fatal and ends the process with status 3. Pebble calls it when it cannot
// continue. It must not return, because Pebble's goroutines would then wait for ever; it does only if a test's
// Exit does.
func (l logger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, a := range args {
		if err, ok := a.(error); ok && storage.IsDiskFull(err) {
			text += "; make room on the disk and start again: nothing that was acknowledged is lost"
		}
	}
	if l.o.Fatal != nil {
		l.o.Fatal(text)
	}
	l.o.Exit(3)
}

// Pebble retries a failed flush or compaction at once, some hundred times a second for as long as it fails, with a
// report each time. These values slow down the retries and the messages.
const (
	failurePause = 20 * time.Millisecond // between tries
	messageEvery = 10 * time.Second      // between messages
	damagePause  = time.Second           // between attempts to read damaged data
	openingTries = 5                     // failures of background work while the store is being opened, after which the process ends
)

// failureHandler handles the failures of Pebble's flushes and compactions: it logs them, delays their retries, and
// ends the process if waiting is useless.
type failureHandler struct {
	log       logger
	now       func() time.Time // nil: every failure is logged
	pause     pause            // delays retries
	opening   atomic.Bool      // Pebble is being opened, which cannot be interrupted
	tries     atomic.Int64     // failures during the open
	diskSpace *diskSpace
	// logBytes is the size of a write-ahead log; as many bytes of disk space are allocated when a log is created.
	logBytes int64
	stalled  atomic.Int64 // 0 = no writes wait; while all writes wait, 1 plus the flushes and compactions that have failed meanwhile

	mu          sync.Mutex
	lastMessage time.Time
	suppressed  int
}

// handle logs a failure of a flush or compaction, at most one each ten seconds, and delays the retry. The process
// ends if the store is being opened and there is no disk space or more than openingTries failures, because the
// open would wait for the flush at its end. It also ends after more than StallTries failures, without those of a
// full disk, while all writes wait. Damage is logged elsewhere and does not end an open, because no flush reads
// tables.
func (t *failureHandler) handle(err error) {
	damage := pebble.IsCorruptionError(err)
	if t.opening.Load() && !damage && (storage.IsDiskFull(err) || t.tries.Add(1) > openingTries) {
		t.log.Fatalf("the store cannot be opened: %v", err)
	}
	if n := t.stalled.Load(); n > 0 && !storage.IsDiskFull(err) && t.stalled.CompareAndSwap(n, n+1) && n > int64(t.log.o.StallTries) {
		t.log.Fatalf("writes wait for tables that cannot be written: %v", err)
	}
	if damage { // damage is reported once, where it was found
		t.pause.extend(damagePause)
		return
	}
	if text := t.message(err); text != "" {
		t.log.Errorf("%s", text)
	}
	t.pause.extend(failurePause)
}

// message returns the text to log for a failure, "" if the last message is less than ten seconds old. The next
// text has the number of omitted failures.
func (t *failureHandler) message(err error) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		return fmt.Sprintf("background work failed and is tried again: %v", err)
	}
	now := t.now()
	if !t.lastMessage.IsZero() && now.Sub(t.lastMessage) < messageEvery {
		t.suppressed++
		return ""
	}
	text := fmt.Sprintf("background work failed and is tried again: %v", err)
	if t.suppressed > 0 {
		text += fmt.Sprintf(" (and %d failures since the last message)", t.suppressed)
	}
	t.lastMessage, t.suppressed = now, 0
	return text
}
