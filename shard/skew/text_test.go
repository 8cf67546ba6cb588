package skew

import (
	"strings"
	"testing"
)

// TestSingular checks that sentences about one request or one second are in the singular.
func TestSingular(t *testing.T) {
	for n, want := range map[float64]string{0: "", 1: " 1 request was refused, by a", 2: " 2 requests were refused, by a"} {
		if got := beside(n); !strings.HasPrefix(got, want) || n == 0 && got != "" {
			t.Errorf("%v refused: %q", n, got)
		}
	}
	for seconds, want := range map[int64]string{1: "1 second", 2: "2 seconds", 119: "119 seconds", 120: "2 minutes", 7200: "2.0 hours"} {
		if got := Duration(seconds); got != want {
			t.Errorf("%d seconds: %q", seconds, got)
		}
	}
}
