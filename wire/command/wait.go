package command

import (
	"context"
	"time"
)

// Wait sleeps for d, or until ctx ends, and returns its cause then.
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
