package ratelimit

import (
	"context"
	"errors"
	"time"
)

// RetrySecondsMax is the longest time for which server-side retry keeps a request waiting.
const RetrySecondsMax = 60

// queueMax is the maximum number of requests that wait for one bucket under server-side retry; further ones are
// refused at once.
const queueMax = 1000

// ErrRetryTimeout is the error of Wait if the request is still throttled after the time limit of server-side retry;
// the client gets the error MaxTimeMSExpired.
var ErrRetryTimeout = errors.New("ratelimit: request still throttled after server-side retry")

// queue holds the requests that wait for one bucket under server-side retry, first come first served. It is guarded
// by the bucket's mutex.
type queue struct {
	waiters []*waiter
}

// waiter is one queued request. A send on wake makes it check the balance of the bucket again.
type waiter struct {
	wake  chan struct{}
	until int64 // the second before which the ceiling of its tenant delays it; then others are admitted before it
}

func (q *queue) len() int { return len(q.waiters) }

// head returns the first waiter that no ceiling delays in a second; nil if there is none.
func (q *queue) head(second int64) *waiter {
	for _, w := range q.waiters {
		if w.until <= second {
			return w
		}
	}
	return nil
}

// wakeHead lets the head check the balance.
func (q *queue) wakeHead(second int64) {
	w := q.head(second)
	if w == nil {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// endDelays ends the delays by ceilings of all waiters.
func (q *queue) endDelays() {
	for _, w := range q.waiters {
		w.until = 0
	}
}

// remove removes a waiter, and wakes the new head.
func (q *queue) remove(w *waiter, second int64) {
	for i, o := range q.waiters {
		if o == w {
			head := q.head(second) == w
			q.waiters = append(q.waiters[:i], q.waiters[i+1:]...)
			if head {
				q.wakeHead(second)
			}
			return
		}
	}
}

// timerClock computes the present time from timers alone: the time that the caller passed at the start, plus the
// time that timers have measured since then. So the package reads no clock.
type timerClock struct {
	now, first time.Time
	timer      *time.Timer
}

// newTimerClock returns a timerClock that starts at now, the caller's time.
func newTimerClock(now time.Time) *timerClock {
	s := &timerClock{now: now, timer: time.NewTimer(0)}
	s.first = <-s.timer.C
	return s
}

func (s *timerClock) at(tick time.Time) time.Time { return s.now.Add(tick.Sub(s.first)) }

// Wait admits a request under server-side retry. If the bucket cannot admit the request at once, or others wait
// that no ceiling delays, the request waits in a queue behind them, for at most limit. Wait returns the time waited. Errors, the last two with
// the time 0: ErrRetryTimeout; *Throttled without ShardID if the queue is full; ctx.Err().
func (b *Bucket) Wait(ctx context.Context, now time.Time, c Class, limit time.Duration) (time.Duration, error) {
	if !b.limited.Load() {
		return 0, nil
	}
	b.mu.Lock()
	b.roll(now)
	wait := b.wait(now, c)
	if wait == 0 && (b.queue.head(b.second) == nil || b.untilCovered(now, b.tenant(c), c) == 0) {
		b.mu.Unlock()
		return 0, nil
	}
	b.countRefusalLocked()
	if b.queue.len() >= queueMax {
		at := Standing{QueueLimit, b.share, b.balance}
		b.mu.Unlock()
		return 0, &Throttled{Standing: at, RetryAfter: max(wait, refillStep)}
	}
	w := &waiter{wake: make(chan struct{}, 1)}
	b.queue.waiters = append(b.queue.waiters, w)
	wait = b.delay(now, c, w)
	b.mu.Unlock()

	watch := newTimerClock(now)
	defer watch.timer.Stop()
	deadline := now.Add(limit)
	watch.timer.Reset(min(wait, limit))
	for {
		select {
		case <-ctx.Done():
			b.mu.Lock()
			b.queue.remove(w, b.second)
			b.mu.Unlock()
			return 0, ctx.Err()
		case <-w.wake:
			watch.timer.Reset(0) // get the time
			continue
		case tick := <-watch.timer.C:
			now := watch.at(tick)
			wait := b.tryAdmit(now, c, w)
			if wait == 0 {
				return now.Sub(watch.now), nil
			}
			left := deadline.Sub(now)
			if left <= 0 {
				b.mu.Lock()
				b.queue.remove(w, b.second)
				b.mu.Unlock()
				return now.Sub(watch.now), ErrRetryTimeout
			}
			watch.timer.Reset(min(wait, left))
		}
	}
}

// tryAdmit admits a waiter and removes it from the queue, or returns the time after which it should try again. It
// admits only the head of the queue, and waiters that the guarantee of their tenant covers; in each second only as many
// requests as the balance is expected to pay for at the average charge. Otherwise the whole queue would start at the
// beginning of a second, before any of its requests is charged.
func (b *Bucket) tryAdmit(now time.Time, c Class, w *waiter) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.roll(now)
	wait := b.delay(now, c, w)
	if wait == 0 {
		b.uncharged = addSaturating(b.uncharged, max(b.averageCharge, 1))
		b.queue.remove(w, b.second)
	}
	return wait
}

// delay returns the time after which a waiter should try again; 0 means now. One that has to be woken gets waitMax. If
// the ceiling of its tenant delays the head, the next waiter is woken. The caller has rolled the bucket, and holds b.mu.
func (b *Bucket) delay(now time.Time, c Class, w *waiter) time.Duration {
	t := b.tenant(c)
	if ceiling := b.untilBelowCeiling(now, t); ceiling > 0 && b.limited.Load() {
		if b.queue.head(b.second) == w {
			defer b.queue.wakeHead(b.second)
		}
		w.until = b.second + int64((ceiling+refillStep-1)/refillStep)
		return ceiling
	}
	w.until = 0
	if covered := b.untilCovered(now, t, c); covered == 0 || b.queue.head(b.second) != w {
		return covered
	}
	wait := b.wait(now, c)
	left := addSaturating(b.balance, min(b.burstCredit, b.burstLeft())+b.minuteCredit)
	if wait == 0 && b.limited.Load() && b.uncharged > 0 && b.uncharged >= left {
		wait = max(time.Nanosecond, time.Unix(b.second+1, 0).Sub(now))
	}
	return wait
}
