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

// retryBudgets returns budgets with one collection, numbered 1, that has manual throughput of the given RU/s and
// server-side retry.
func retryBudgets(rus int64) *Budgets {
	b := &Budgets{}
	b.Collection(1).Set(time.Now(), Throughput{Manual, rus}, Options{ServerSideRetry: true})
	return b
}

func TestWaitForDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := retryBudgets(400)
		scope := Scope{1, []int{0}}
		if w, err := b.Enter(t.Context(), time.Now(), scope, Class{}); w != 0 || err != nil {
			t.Fatal(w, err)
		}
		start := time.Now()
		b.ChargeAt(start, Class{}, ShardID{1, 0}, 1000*RU)
		w, err := b.Enter(t.Context(), start, scope, Class{})
		if err != nil || w != 2*time.Second || time.Since(start) != w {
			t.Fatal(w, err)
		}
		if s := b.Collection(1).Stats(time.Now()); s[0].Throttled != 1 || s[0].Waiting != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestWaitTimeoutAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := retryBudgets(400)
		b.ChargeAt(time.Now(), Class{}, ShardID{1, 0}, 100_000*RU)
		if w, err := b.Enter(t.Context(), time.Now(), Scope{Collection: 1}, Class{}); w != 60*time.Second || err != ErrRetryTimeout {
			t.Fatal(w, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := b.Enter(ctx, time.Now(), Scope{Collection: 1}, Class{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if n := b.Collection(1).Stats(time.Now())[0].Waiting; n != 0 {
			t.Errorf("%d left in the queue", n)
		}
	})
}

// Queued requests are admitted in the order of their arrival, hardly faster than the budget allows, even if one in
// the middle of the queue gives up.
func TestWaitIsFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := retryBudgets(400)
		for range 50 { // sets the bucket's typical price
			b.ChargeAt(time.Now(), Class{}, ShardID{1, 0}, 40*RU)
		}
		var mu sync.Mutex
		var order []int
		bySecond := map[int64]int{}
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 40 {
			ctx := t.Context()
			if i == 20 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			wg.Go(func() {
				if _, err := b.Enter(ctx, time.Now(), Scope{1, []int{0}}, Class{}); err != nil {
					if i != 20 {
						t.Error(i, err)
					}
					return
				}
				mu.Lock()
				order = append(order, i)
				bySecond[int64(time.Since(start)/time.Second)]++
				mu.Unlock()
				time.Sleep(5 * time.Millisecond) // the request runs
				b.ChargeAt(time.Now(), Class{}, ShardID{1, 0}, 40*RU)
			})
			synctest.Wait()
		}
		wg.Wait()
		if len(order) != 39 || !slices.IsSorted(order) {
			t.Errorf("order %v", order)
		}
		for s, n := range bySecond {
			if n > 12 {
				t.Errorf("%d requests of 40 RU started in second %d at 400 RU/s", n, s)
			}
		}
	})
}

func TestWaitQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := retryBudgets(400)
		b.ChargeAt(time.Now(), Class{}, ShardID{1, 0}, 2000*RU)
		var wg sync.WaitGroup
		const real = 30
		for range real {
			wg.Go(func() {
				if _, err := b.Enter(t.Context(), time.Now(), Scope{Collection: 1}, Class{}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		q := &b.Collection(1).set.Load().buckets[0].queue
		for q.len() < queueMax { // as if so many more were waiting
			q.waiters = append(q.waiters, &waiter{wake: make(chan struct{}, 1)})
		}
		_, err := b.Enter(t.Context(), time.Now(), Scope{Collection: 1}, Class{})
		if e := (*Throttled)(nil); !errors.As(err, &e) || e.ShardID != (ShardID{1, 0}) || e.RetryAfter <= 0 {
			t.Error(err)
		}
		q.waiters = q.waiters[:real]
		// When the limit is removed, the queued requests are admitted at once, without waiting until the old debt is
		// paid.
		time.Sleep(100 * time.Millisecond)
		b.Collection(1).Set(time.Now(), Throughput{}, Options{})
		start := time.Now()
		wg.Wait()
		if time.Since(start) > 0 {
			t.Errorf("the queue went on for %v after the limit was lifted", time.Since(start))
		}
	})
}

// A request that waits for a shard continues to wait, after a split of this shard, for the shards that replace it.
func TestWaitAcrossSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := retryBudgets(400)
		p := b.Collection(1)
		start := time.Now()
		b.ChargeAt(start, Class{}, ShardID{1, 0}, 100_000*RU)
		go func() {
			time.Sleep(1500 * time.Millisecond)
			p.SetShards(time.Now(), []int{1, 2})
			b.ChargeAt(time.Now(), Class{}, ShardID{1, 1}, 500*RU)
		}()
		w, err := b.Enter(t.Context(), start, Scope{1, []int{0, 1}}, Class{})
		if err != nil || w < 1500*time.Millisecond || w > 4*time.Second {
			t.Error(w, err)
		}
		if got := p.Stats(time.Now()); got[0].Balance <= 0 || got[0].Waiting != 0 {
			t.Errorf("admitted in debt: %+v", got[0])
		}
	})
}

func TestVirtualClock(t *testing.T) {
	var b Budgets
	b.Clock = NewVirtualClock(t0)
	b.Collection(1).Set(t0, Throughput{Manual, 400}, Options{ServerSideRetry: true})
	b.ChargeAt(b.Clock.Now(), Class{}, ShardID{1, 0}, 1000*RU)
	w, err := b.Enter(t.Context(), b.Clock.Now(), Scope{Collection: 1}, Class{})
	if w != 2*time.Second || err != nil || b.Clock.Now() != after(2*time.Second) {
		t.Error(w, err, b.Clock.Now())
	}
	b.ChargeAt(b.Clock.Now(), Class{}, ShardID{1, 0}, 1e6*RU)
	w, err = b.Enter(t.Context(), b.Clock.Now(), Scope{Collection: 1}, Class{})
	if w != RetrySecondsMax*time.Second || err != ErrRetryTimeout {
		t.Error(w, err)
	}
}
