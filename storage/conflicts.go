package storage

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// conflictTriesMax is the maximum number of times that RetryConflicts runs a transaction before it returns the
// conflict.
const conflictTriesMax = 64

// Update runs fn in a new transaction and commits it. After a write conflict, it runs fn again in another
// transaction. If fn returns an error, nothing is committed. Errors: errors of fn, Begin, Commit and
// RetryConflicts.
func Update(ctx context.Context, s Store, o TxnOptions, d Durability, fn func(t Txn) error) error {
	return RetryConflicts(ctx, func() error {
		t, err := s.Begin(ctx, o)
		if err != nil {
			return err
		}
		defer t.Close()
		if err := fn(t); err != nil {
			return err
		}
		_, err = t.Commit(ctx, d)
		return err
	})
}

// RetryConflicts runs fn until it returns no ErrConflict, at most 64 times, from the third conflict on with random
// pauses of less than 128 ms. Each call of fn must be a whole transaction, from Begin to Commit. Even a key with a
// single writer needs RetryConflicts, because an engine may refuse a commit for other reasons: one over a cluster
// refuses a commit that took too long. Errors: errors of fn, ErrConflict after 64 tries, ctx.Err().
func RetryConflicts(ctx context.Context, fn func() error) error {
	for try := 1; ; try++ {
		err := fn()
		if try == conflictTriesMax || !errors.Is(err, ErrConflict) {
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
