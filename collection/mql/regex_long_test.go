package mql

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestMatchWithin requires that a match in a long text has the right result, and is interrupted when its command
// ends.
func TestMatchWithin(t *testing.T) {
	long := strings.Repeat("é a\n", longText/4)
	for pattern, want := range map[string]bool{"^é a$": false, `(?m)^é a$`: true, `a\nz`: false, `a\n$`: true, `\ba\b`: true, "aa+": false} {
		r, err := CompileRegex(pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		ok, err := r.MatchWithin(NewEnv(t.Context()), []byte(long))
		if err != nil || ok != want { // not compared with a match in one go, for which a busy machine has no time
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

// TestEachWithin requires that the matches in a long text are the same as in one uninterrupted search, and that the
// search is interrupted when its command ends.
func TestEachWithin(t *testing.T) {
	long := []byte(strings.Repeat("één ab\nab cd ", longText/12))
	for _, pattern := range []string{`\bab\b`, `(?m)^a(b)( cd)?`, "^é", `(é)n|(c)d`, `b\n(.)`} {
		r, err := CompileRegex(pattern, "")
		if err != nil {
			t.Fatal(err)
		}
		want, err := r.FindAll(long, -1)
		if err != nil {
			t.Fatal(err)
		}
		var got [][]int
		err = r.EachWithin(NewEnv(t.Context()), long, func(m []int) error {
			got = append(got, slices.Clone(m))
			return nil
		})
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%s: %d matches, want %d, %v", pattern, len(got), len(want), err)
		}
		first, err := r.FindWithin(NewEnv(t.Context()), long)
		if err != nil || len(want) > 0 && !slices.Equal(first, want[0]) || len(want) == 0 && first != nil {
			t.Errorf("%s: first %v, %v", pattern, first, err)
		}
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, _ := CompileRegex("(é+)", "")
	n := 0
	err := r.EachWithin(NewEnv(ctx), long, func([]int) error {
		if n++; n == 10 {
			cancel(gone)
		}
		return nil
	})
	if err != gone || n > 2000 {
		t.Errorf("%v after %d matches", err, n)
	}
	if _, err := r.FindWithin(NewEnv(ctx), bytes.Repeat([]byte("a"), longText)); err != gone {
		t.Error(err)
	}
}
