package command

import (
	"context"
	"time"
)

// Wait sleeps for the duration d. If ctx ends before that, it returns the cause of ctx, else nil.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
