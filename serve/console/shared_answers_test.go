package console

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestSharedAnswers checks that requests for the same share one answer within a second, also while it is being made, that
// users do not share, that errors are not kept, and that few answers are.
func TestSharedAnswers(t *testing.T) {
	var x sharedAnswers
	now := time.Unix(1_700_000_000, 0)
	var made atomic.Int32
	begun, release := make(chan struct{}), make(chan struct{})
	answer := func() (any, error) {
		close(begun)
		<-release
		return made.Add(1), nil
	}
	key := sharedKey{user: "ada", args: "-900"}
	var all sync.WaitGroup
	ask := func() {
		if text, err := x.get(t.Context(), key, now, answer); err != nil || string(text) != "1" {
			t.Errorf("%s %v", text, err)
		}
	}
	all.Go(ask)
	<-begun
	for range 9 {
		all.Go(ask) // a second call of answer would panic
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.get(ctx, key, now, answer); !errors.Is(err, context.Canceled) {
		t.Errorf("a browser that has gone waits: %v", err)
	}
	close(release)
	all.Wait()
	count := func() (any, error) { return made.Add(1), nil }
	for _, c := range []struct {
		key  sharedKey
		age  time.Duration
		want string
	}{
		{key, sharedAge - 1, "1"},
		{sharedKey{user: "bob", args: "-900"}, 0, "2"},
		{sharedKey{user: "ada", version: 1, args: "-900"}, 0, "3"},
		{key, sharedAge, "4"},
	} {
		if text, err := x.get(t.Context(), c.key, now.Add(c.age), count); err != nil || string(text) != c.want {
			t.Errorf("%+v: %s %v", c.key, text, err)
		}
	}
	failed := errors.New("failed")
	for range 2 {
		if _, err := x.get(t.Context(), sharedKey{args: "bad"}, now, func() (any, error) { made.Add(1); return nil, failed }); err != failed {
			t.Error(err)
		}
	}
	if made.Load() != 6 {
		t.Errorf("an error is kept: %d answers were made", made.Load())
	}
	for i := range 10 * sharedMax {
		if text, err := x.get(t.Context(), sharedKey{args: fmt.Sprint(i)}, now, count); err != nil || text == nil {
			t.Error(err)
		}
	}
	if len(x.list) > sharedMax {
		t.Errorf("%d answers are kept", len(x.list))
	}
	func() {
		defer func() { recover() }()
		x.get(t.Context(), sharedKey{args: "panic"}, now.Add(time.Hour), func() (any, error) { panic("in a handler") })
	}()
	if text, err := x.get(t.Context(), sharedKey{args: "panic"}, now.Add(time.Hour), count); err != nil || text == nil {
		t.Errorf("after a panic: %v", err)
	}
}
