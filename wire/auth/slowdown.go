package auth

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"time"
)

// LoginThrottle limits the rate at which clients can guess passwords: after some failures, a login attempt waits
// before the server checks its proof. Disconnecting, or using many connections, does not make a guesser faster. No
// user is locked out for long. Safe for concurrent use.
//
// It counts three kinds of failures: of a user at one client address, of a user at all addresses, and of an address
// with all users. The delays of the first kind slow a guesser down. Those of the other two begin after more
// failures, grow more slowly, and apply only if this user has not logged in from this address recently.
type LoginThrottle struct {
	mu           sync.Mutex
	seed         maphash.Seed
	limiters     lruTable[*attemptLimiter]
	recentLogins lruTable[struct{}] // users at addresses with a recent login
}

// ErrTooMany refuses an attempt without a check of its proof.
var ErrTooMany = errors.New("there were too many failed attempts to log in")

// waitMax bounds the wait of an attempt; one that would wait longer is refused. queueMax bounds the attempts that
// wait for one user at one address while they are delayed. After a login, the user counts as known at its address
// for recentLoginFor. A count of failures is halved after each halvedAfter without a failure; a successful login also
// halves those of its user (not of its address), but at most once in easedAfter, because an account in use logs in
// often. limitersMax and recentLoginsMax bound the entries of the tables.
const (
	waitMax         = 8 * time.Second
	queueMax        = 4
	recentLoginFor  = 24 * time.Hour
	halvedAfter     = 5 * time.Minute
	easedAfter      = time.Minute
	limitersMax     = 10_000
	recentLoginsMax = 10_000
)

// backoff defines the delay between login attempts by the number of failures. The first free failures cause no
// delay. After one more, an attempt must come at least first after the previous attempt. The delay doubles with
// every step further failures, up to longest.
type backoff struct {
	free, step     int
	first, longest time.Duration
}

// The delays for a user at one address, for a user at all addresses, and for an address. Over a long time, and without
// logins of the user in between, they allow 1,125 guesses per hour of one user's password from one address, 9,000 from
// all addresses where the user is not known, and 2,250 from one address for all users.
var (
	pairBackoff    = backoff{free: 3, step: 1, first: 100 * time.Millisecond, longest: 3200 * time.Millisecond}
	userBackoff    = backoff{free: 30, step: 10, first: 50 * time.Millisecond, longest: 400 * time.Millisecond}
	addressBackoff = backoff{free: 20, step: 10, first: 100 * time.Millisecond, longest: 1600 * time.Millisecond}
)

// delay returns the minimum time between two attempts after n failures.
func (p backoff) delay(n int) time.Duration {
	if n <= p.free {
		return 0
	}
	return min(p.first<<min((n-p.free-1)/p.step, 10), p.longest)
}

// attemptLimiter delays the attempts of one key.
type attemptLimiter struct {
	key      uint64
	backoff  backoff
	failures int           // failures, halved from time to time
	halved   time.Time     // the beginning of the current halvedAfter
	eased    time.Time     // when a success last halved failures
	last     time.Time     // time of the last failure, or a later time for which an attempt was scheduled
	attempts int           // attempts that wait or are being checked; while there are any, the limiter stays
	turn     chan struct{} // a semaphore of one slot, for the next attempt to be checked; only for a user at an address
}

// ready returns when the next attempt may be checked.
func (g *attemptLimiter) ready(now time.Time) time.Time {
	if at := g.last.Add(g.backoff.delay(g.failures)); at.After(now) {
		return at
	}
	return now
}

// decay halves the number of failures once for each halvedAfter that has passed since the last halving or failure.
func (g *attemptLimiter) decay(now time.Time) {
	if k := now.Sub(g.halved) / halvedAfter; k > 0 {
		g.failures >>= min(k, 62)
		g.halved = now
	}
}

// countFailure counts a failed login. The count stops growing some failures after the delay has reached its maximum,
// so that a few successful logins (countSuccess) shorten the delay again.
func (g *attemptLimiter) countFailure(now time.Time) {
	if g.backoff.delay(g.failures) < g.backoff.longest || g.failures < 3+g.backoff.free+8*g.backoff.step {
		g.failures++
	}
	g.last, g.halved = later(g.last, now), now
}

// countSuccess halves the failures after a success, at most once in easedAfter.
func (g *attemptLimiter) countSuccess(now time.Time) {
	if now.Sub(g.eased) >= easedAfter {
		g.failures, g.eased = g.failures/2, now
	}
}

// Attempt is a login attempt whose proof may be checked now. The caller of Enter calls Leave with the result.
type Attempt struct {
	s                   *LoginThrottle
	pair, user, address *attemptLimiter
}

// Enter waits, for at most waitMax, until the server may check the proof of a user at a client address. Errors:
// ErrTooMany; the reason why ctx has ended.
func (s *LoginThrottle) Enter(ctx context.Context, user Name, address string) (*Attempt, error) {
	deadline := time.Now().Add(waitMax)
	ctx, cancel := context.WithDeadlineCause(ctx, deadline, ErrTooMany)
	defer cancel()
	a, slow := s.begin(user, address)
	if slow {
		a.release(false)
		return nil, ErrTooMany
	}
	select {
	case a.pair.turn <- struct{}{}:
	case <-ctx.Done():
		a.release(false)
		return nil, context.Cause(ctx)
	}
	wait, strange, err := a.reserveTurn(deadline)
	if err == nil && wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			if err = context.Cause(ctx); strange {
				a.countTimeout()
			}
		}
	}
	if err != nil {
		a.release(true)
		return nil, err
	}
	return a, nil
}

// begin returns an attempt with the limiters of the user at the address, of the user, and of the address. slow is
// true if, besides the attempt that is being checked, more than queueMax wait, this one included, and are delayed.
func (s *LoginThrottle) begin(user Name, address string) (a *Attempt, slow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	a = &Attempt{s: s, pair: s.limiter(user, address, pairBackoff, now), user: s.limiter(user, "", userBackoff, now), address: s.limiter(Name{}, address, addressBackoff, now)}
	if a.pair.turn == nil {
		a.pair.turn = make(chan struct{}, 1)
	}
	return a, a.pair.attempts > queueMax+1 && a.pair.backoff.delay(a.pair.failures) > 0
}

// limiter finds or makes the limiter of a user, an address, or both. The limiter stays in the table until release.
// The caller holds mu.
func (s *LoginThrottle) limiter(user Name, address string, p backoff, now time.Time) *attemptLimiter {
	key := s.key(user, address)
	g, ok := s.limiters.get(key)
	if !ok {
		g = &attemptLimiter{key: key, backoff: p, halved: now}
		s.limiters.put(key, g, limitersMax, func(g *attemptLimiter) bool { return g.attempts == 0 })
	}
	g.attempts++
	g.decay(now)
	return g
}

// key returns the hash of a user, an address, or both, by which limiters are found; a hash, because names may be
// long. The caller holds mu.
func (s *LoginThrottle) key(user Name, address string) uint64 {
	if s.seed == (maphash.Seed{}) {
		s.seed = maphash.MakeSeed()
	}
	return maphash.Comparable(s.seed, struct {
		Name
		address string
	}{user, address})
}

// reserveTurn returns how long the attempt, the first of its queue, has to wait before the check. If the user has
// not logged in from the address recently, the delays of the user and of the address apply as well; if one of them
// is not zero, strange is true, and the attempt is scheduled at both limiters. Errors: ErrTooMany.
func (a *Attempt) reserveTurn(deadline time.Time) (wait time.Duration, strange bool, err error) {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	now := time.Now()
	at := a.pair.ready(now)
	if since, ok := a.s.recentLogins.putTime(a.pair.key); !ok || now.Sub(since) > recentLoginFor {
		for _, g := range [...]*attemptLimiter{a.user, a.address} {
			if next := g.ready(now); next.After(at) {
				at = next
			}
		}
		for _, g := range [...]*attemptLimiter{a.user, a.address} {
			strange = strange || g.backoff.delay(g.failures) > 0
		}
	}
	if at.After(deadline) {
		if strange {
			a.pair.countFailure(now) // so that its next attempt waits
		}
		return 0, false, ErrTooMany
	}
	if strange {
		a.user.last, a.address.last = later(a.user.last, at), later(a.address.last, at)
	}
	return at.Sub(now), strange, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// countTimeout counts an attempt as failed that was scheduled at the limiters of the user and of the address, but
// ended before the check. Its scheduled time was lost for others, so its next attempt waits longer.
func (a *Attempt) countTimeout() {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.pair.countFailure(time.Now())
}

// Leave ends an attempt; proven means that its proof was right.
func (a *Attempt) Leave(proven bool) {
	a.s.mu.Lock()
	now := time.Now()
	if proven {
		a.pair.countSuccess(now)
		a.user.countSuccess(now)
		a.s.recentLogins.put(a.pair.key, struct{}{}, recentLoginsMax, func(struct{}) bool { return true })
	} else {
		for _, g := range [...]*attemptLimiter{a.pair, a.user, a.address} {
			g.countFailure(now)
		}
	}
	a.s.mu.Unlock()
	a.release(true)
}

// release removes the attempt from its limiters. its means that the attempt holds the turn of its queue, which then
// passes to the next one.
func (a *Attempt) release(its bool) {
	if its {
		<-a.pair.turn
	}
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	for _, g := range [...]*attemptLimiter{a.pair, a.user, a.address} {
		if g.attempts--; g.attempts == 0 && g.failures == 0 {
			a.s.limiters.drop(g.key)
		}
	}
}
