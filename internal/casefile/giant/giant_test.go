package giant

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestCanary checks that ends detects a function that does not check its context, and accepts one that does.
func TestCanary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caught := make(chan struct{})
		if ends(t.Context(), time.Minute, func(context.Context) { <-caught }) {
			t.Error("what goes on for ever ends")
		}
		close(caught)
		if !ends(t.Context(), time.Minute, func(ctx context.Context) { <-ctx.Done() }) {
			t.Error("what asks does not end")
		}
	})
}
