package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/cmd/cantle/columns"
	"github.com/cantledb/cantle/cmd/cantle/remote"
)

// waits makes a verb wait while the server throttles it, counts these waits, and shows them. All workers of a verb share
// it. The zero waits shows nothing. Safe for concurrent use.
type waits struct {
	mu        sync.Mutex
	throttled int // times
	waited    time.Duration
	logf      func(format string, args ...any) // prints a line; nil for none
	shown     time.Time                        // of the last line
}

// shownEvery is the time between two lines about waits.
const shownEvery = 5 * time.Second

// showOn makes w print its waits as lines.
func (w *waits) showOn(out io.Writer) {
	w.showBy(func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) })
}

// showBy makes w print its waits by logf, one line each.
func (w *waits) showBy(logf func(format string, args ...any)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logf = logf
}

// add counts a wait, and shows it unless one was shown in the last seconds.
func (w *waits) add(pause time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.throttled++
	w.waited += pause
	if now := time.Now(); w.logf != nil && now.Sub(w.shown) >= shownEvery {
		w.shown = now
		w.logf("throttled: waiting %d ms, %s time", max(1, pause.Milliseconds()), ordinal(w.throttled))
	}
}

// ordinal returns a number as 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	end := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return strconv.Itoa(n) + end
}

// stillThrottledError is the error of a verb whose time ended while the server throttled it.
type stillThrottledError struct {
	throttled int
	waited    time.Duration
}

func (e *stillThrottledError) Error() string {
	return fmt.Sprintf("the server refused this for lack of request units %s in %s: try again when the collection is less busy, raise its throughput, or allow more time with --timeout",
		columns.Plural(e.throttled, "time"), e.waited.Round(time.Millisecond))
}

// isThrottled returns the message of a refusal for lack of request units; ok is false for any other error.
func isThrottled(err error) (message string, ok bool) {
	var refused mongo.CommandError
	if errors.As(err, &refused) && refused.Code == remote.RequestThrottled {
		return refused.Message, true
	}
	return "", false
}

// retry sends a request, and sends it again while the server throttles it, after the time that the refusal names.
// If the time of ctx ends in a request after a refusal, that is the error of the refusal, too: the server answers.
// Errors: those of send; *stillThrottledError, ctx.Err().
func (w *waits) retry(ctx context.Context, send func() ([]byte, error)) ([]byte, error) {
	for again := false; ; again = true {
		raw, err := send()
		message, refused := isThrottled(err)
		if again && mongo.IsTimeout(err) {
			return nil, w.still(0)
		}
		if !refused {
			return raw, err
		}
		if err := w.wait(ctx, message); err != nil {
			return nil, err
		}
	}
}

// still returns the error of a verb whose time ends now, after its waits and a number of refusals since.
func (w *waits) still(refusals int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &stillThrottledError{w.throttled + refusals, w.waited}
}

// wait waits for the time that a refusal names. If the time of ctx would end before, it returns at once.
// Errors: *stillThrottledError, ctx.Err().
func (w *waits) wait(ctx context.Context, message string) error {
	pause := 100 * time.Millisecond
	if after, ok := remote.RetryAfter(message); ok {
		pause = max(time.Millisecond, after)
	}
	if end, limited := ctx.Deadline(); limited && time.Until(end) < pause {
		return w.still(1)
	}
	w.add(pause)
	err := remote.Pause(ctx, pause)
	if errors.Is(err, context.DeadlineExceeded) { // the pause took longer on a busy machine
		return w.still(0)
	}
	return err
}

// summary prints how often the server throttled.
func (w *waits) summary(errs io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.throttled > 0 {
		fmt.Fprintf(errs, "throttled %s, waited %s\n", columns.Plural(w.throttled, "time"), w.waited.Round(time.Millisecond))
	}
}
