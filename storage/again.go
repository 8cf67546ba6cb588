package storage

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// againMax bounds how often Again runs a transaction.
const againMax = 64

// Again runs fn, a whole transaction that begins from nothing each time, until it does not
// end with ErrConflict. Where there is one writer of a key nobody is faster, but an engine may
// refuse a commit for reasons of its own: one over a cluster does when a commit took too long.
// Errors: those of fn, ErrConflict after 64 tries, ctx.Err().
func Again(ctx context.Context, fn func() error) error {
	for try := 1; ; try++ {
		err := fn()
		if try == againMax || !errors.Is(err, ErrConflict) {
			return err
		}
		if try < 3 {
			continue
		}
		timer := time.NewTimer(rand.N(time.Millisecond << min(try, 7)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
