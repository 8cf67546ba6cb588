package storage

import (
	"context"
	"errors"
	"time"
)

// Passes reports whether the same operation may succeed later: there was a conflict, a commit came too
// late or got no answer, or the cluster that keeps the data cannot be reached at present.
func Passes(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUndetermined)
}

// persistPause is the pause between two tries of Persist.
const persistPause = 200 * time.Millisecond

// Persist runs a step until it returns no error that Passes, for up to patience; a try that runs then
// is not interrupted. The step starts from the beginning each time and must be idempotent. again is
// called with each error before a retry. Persist is for callers without a client that could retry,
// such as a server that starts. Errors: those of the step, the last one if it never succeeds;
// ctx.Err().
func Persist(ctx context.Context, patience time.Duration, step func() error, again func(err error)) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		err := step()
		if !Passes(err) {
			return err
		}
		pause := time.NewTimer(persistPause)
		select {
		case <-late.C:
			pause.Stop()
			return err
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
		again(err)
	}
}
