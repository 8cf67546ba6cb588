package storage

import (
	"context"
	"errors"
	"time"
)

// Passes reports an error after which the same may succeed later: another one was faster, a commit
// came too late or was not answered, or the cluster that keeps the data cannot be reached at present.
func Passes(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUndetermined)
}

// persistPause is between two tries of Persist.
const persistPause = 200 * time.Millisecond

// Persist runs a step until it does not end with an error that Passes, or for as long as patience;
// a try that has begun by then goes on. The step begins from nothing each time, and can be done twice.
// again is told of each error after which it is run again. It is for those who have nobody to tell
// that they may try again, such as a server that starts.
// Errors: those of the step, the last one if it never succeeds; ctx.Err().
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
