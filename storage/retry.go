package storage

import (
	"context"
	"errors"
	"time"
)

// Temporary reports whether the operation that returned err may succeed if it is repeated: there was a conflict,
// the outcome of a commit is unknown, or the data cannot be reached at present.
func Temporary(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUndetermined)
}

// temporaryPause is the pause between two tries of RetryTemporary.
const temporaryPause = 200 * time.Millisecond

// RetryTemporary runs a step until it returns no Temporary error, for at most patience; a try that is running at
// that time is not interrupted. The step starts from the beginning each time and must be idempotent. again is
// called with each error before a retry, for example to log it. RetryTemporary is for callers without a client
// that could retry, such as a server that starts. Errors: the last error of the step; ctx.Err().
func RetryTemporary(ctx context.Context, patience time.Duration, step func() error, again func(err error)) error {
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		err := step()
		if !Temporary(err) {
			return err
		}
		pause := time.NewTimer(temporaryPause)
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
