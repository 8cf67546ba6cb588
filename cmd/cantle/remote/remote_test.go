package remote

import (
	"testing"
	"time"
)

// TestRetryAfter checks the times in the texts of refusals, of which an account also sends fractions.
func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{"Error=16500, RetryAfterMs=34, Details='x'": 34 * time.Millisecond, "RetryAfterMs=1.5,": 1500 * time.Microsecond,
		"RetryAfterMs=0": 0, "RetryAfterMs=99999999999999999999": time.Minute, "RetryAfterMs=-5": -1, "RetryAfterMs=": -1, "too large": -1} {
		if got, ok := RetryAfter(text); ok != (want >= 0) || got != max(0, want) {
			t.Errorf("%s: %v, %v", text, got, ok)
		}
	}
}
