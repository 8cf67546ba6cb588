package mql

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A match in a long text is as in a short one, and ends with its command.
func TestMatchWithin(t *testing.T) {
	long := strings.Repeat("é a\n", longText/4)
	for pattern, want := range map[string]bool{"^é a$": false, `(?m)^é a$`: true, `a\nz`: false, `a\n$`: true, `\ba\b`: true, "aa+": false} {
		r, err := CompileRegex(pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		ok, err := r.MatchWithin(NewEnv(t.Context()), []byte(long))
		if err != nil || ok != r.Match([]byte(long)) || ok != want {
			t.Errorf("%s: %v, %v", pattern, ok, err)
		}
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	r, _ := CompileRegex("(é+)+z", "")
	if ok, err := r.MatchWithin(NewEnv(ctx), []byte(long)); ok || err != gone {
		t.Error(ok, err)
	}
}
