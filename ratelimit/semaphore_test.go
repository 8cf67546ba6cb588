package ratelimit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSemaphore checks that slots are bounded and are given in the order of waiting, to preferred callers first, and
// that a slot is not lost if a waiting caller is cancelled or times out.
func TestSemaphore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewSemaphore(1)
		enter := func(ctx context.Context, preferred bool, patience time.Duration) (bool, error) {
			return l.Acquire(ctx, "", preferred, patience)
		}
		if ok, err := enter(t.Context(), false, 0); !ok || err != nil || l.HasWaiters() {
			t.Fatal(ok, err)
		}
		var mu sync.Mutex
		var order []int
		for i, preferred := range []bool{false, false, true, false, true} {
			go func() {
				if ok, err := enter(t.Context(), preferred, 0); !ok || err != nil {
					t.Error(ok, err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				l.Release()
			}()
			synctest.Wait()
		}
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		if ok, err := enter(ctx, true, 0); ok || err != gone {
			t.Error(ok, err)
		}
		begun := time.Now()
		if ok, err := enter(t.Context(), true, time.Second); ok || err != nil || time.Since(begun) != time.Second {
			t.Error(ok, err, time.Since(begun))
		}
		if !l.HasWaiters() || len(order) > 0 {
			t.Error("entered a lane that is taken:", order)
		}
		l.Release()
		synctest.Wait()
		if want := []int{2, 4, 0, 1, 3}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if ok, _ := enter(t.Context(), false, time.Nanosecond); !ok || l.HasWaiters() {
			t.Error("the lane was lost")
		}
	})
	var none *Semaphore
	if ok, err := none.Acquire(t.Context(), "", false, 0); !ok || err != nil || none.HasWaiters() {
		t.Error(ok, err)
	}
	none.Release()
}

// TestSemaphoreConcurrently checks that there are never more goroutines inside than slots, even if some give up
// while they wait.
func TestSemaphoreConcurrently(t *testing.T) {
	l := NewSemaphore(2)
	var mu sync.Mutex
	inside, most := 0, 0
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 300 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i*7+w)%50)*time.Microsecond)
				if ok, _ := l.Acquire(ctx, "", w%2 == 0, 0); ok {
					mu.Lock()
					inside++
					most = max(most, inside)
					mu.Unlock()
					time.Sleep(time.Microsecond)
					mu.Lock()
					inside--
					mu.Unlock()
					l.Release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if most > 2 || l.free != 2 || l.HasWaiters() {
		t.Errorf("%d inside at once, %d lanes free at the end", most, l.free)
	}
}

// Users take turns, however many goroutines of theirs wait.
func TestCPUSlotsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewSemaphore(1)
		if ok, _ := l.Acquire(t.Context(), "", false, 0); !ok {
			t.Fatal("no lane")
		}
		var mu sync.Mutex
		var order string
		ask := func(user string) {
			go func() {
				if ok, err := l.Acquire(t.Context(), user, false, 0); !ok || err != nil {
					t.Error(ok, err)
				}
				mu.Lock()
				order += user
				mu.Unlock()
				l.Release()
			}()
			synctest.Wait()
		}
		for _, user := range "aaaaabbc" {
			ask(string(user))
		}
		l.Release()
		synctest.Wait()
		if order != "abcabaaa" {
			t.Error(order)
		}
		if len(l.turns) > 0 || l.InUse() != 0 {
			t.Error("users are remembered")
		}
	})
}
