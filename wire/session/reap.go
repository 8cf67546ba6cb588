package session

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// The intervals at which Run looks for expired transactions and for idle sessions.
const (
	txnEvery  = time.Second
	idleEvery = time.Minute
)

// Run ends expired transactions every second and idle sessions every minute. Every IdleMax it removes the entries of
// the History that are older than twice IdleMax, unless a peer does. It returns when ctx ends.
func (r *Registry) Run(ctx context.Context) {
	txns, idle, sweep := time.NewTicker(txnEvery), time.NewTicker(idleEvery), time.NewTicker(r.cfg.IdleMax)
	defer txns.Stop()
	defer idle.Stop()
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-txns.C:
			r.expireTxns()
		case <-idle.C:
			r.expireSessions(ctx)
		case <-sweep.C:
			if h, ok := r.cfg.History.(interface {
				Sweep(ctx context.Context, before time.Time) (int, error)
			}); ok && (r.cfg.OwnsSweep == nil || r.cfg.OwnsSweep(ctx)) {
				_, _ = h.Sweep(ctx, r.cutoff(2*r.cfg.IdleMax))
			}
		}
	}
}

// elapsed returns the time since the registry was made, by the monotonic clock, so that setting the wall clock does
// not end sessions.
func (r *Registry) elapsed() time.Duration { return r.cfg.Now().Sub(r.began) }

// cutoff returns a time of the wall clock: entries that were written before it are at least d old, even if the wall
// clock was set forward since the start.
func (r *Registry) cutoff(d time.Duration) time.Time {
	wall, steady := r.cfg.Now().Round(0), r.began.Round(0).Add(r.elapsed())
	if steady.Before(wall) {
		wall = steady
	}
	return wall.Add(-d)
}

// expireTxns aborts transactions that have exceeded their lifetime.
// Manual: reference/parameters (transactionLifetimeLimitSeconds).
func (r *Registry) expireTxns() {
	old := map[*Session]time.Time{}
	now, standard := time.Now(), time.Duration(r.txnMax.Load())
	r.openMu.Lock()
	for s, t := range r.open {
		limit := standard
		if t.max > 0 {
			limit = min(limit, t.max)
		}
		if now.Sub(t.since) > limit {
			old[s] = t.since
		}
	}
	r.openMu.Unlock()
	for s, since := range old {
		s.requestAbort(ErrExpired, since)
	}
}

// expireSessions ends the sessions that have been idle for IdleMax. A session that a
// command has checked out is not idle.
func (r *Registry) expireSessions(ctx context.Context) {
	limit := int64(r.elapsed() - r.cfg.IdleMax)
	old := func(s *Session) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.used.Load() < limit && !s.busy
	}
	var gone []ID
	for i := range r.stripes {
		st := &r.stripes[i]
		var ids []ID
		st.mu.Lock()
		for id, s := range st.m {
			if old(s) {
				ids = append(ids, id)
			}
		}
		st.mu.Unlock()
		for _, id := range ids {
			if r.drop(id, ErrExpired, old) {
				gone = append(gone, id)
			}
		}
	}
	r.forget(ctx, gone)
}

// resize adds to the bytes of results in memory.
func (r *Registry) resize(by int) { r.bytes.Add(int64(by)) }

// trim bounds the memory for results of retryable writes: if it exceeds ResultBytes, the results of the least recently
// used sessions are dropped, down to three quarters of ResultBytes; sessions that a command uses keep theirs. A retry
// of a statement whose result was dropped is refused, so that it never runs twice, unless the result is read again from
// a History that peers share.
func (r *Registry) trim() {
	if r.bytes.Load() <= r.cfg.ResultBytes || !r.trimmer.TryLock() {
		return
	}
	defer r.trimmer.Unlock()
	var all []*Session
	for i := range r.stripes {
		st := &r.stripes[i]
		st.mu.Lock()
		for _, s := range st.m {
			all = append(all, s)
		}
		st.mu.Unlock()
	}
	used := make(map[*Session]int64, len(all))
	for _, s := range all {
		used[s] = s.used.Load()
	}
	slices.SortFunc(all, func(a, b *Session) int { return cmp.Compare(used[a], used[b]) })
	for _, s := range all {
		if r.bytes.Load() <= r.cfg.ResultBytes*3/4 {
			return
		}
		select {
		case s.sem <- struct{}{}:
			if s.results.bytes > 0 {
				r.resize(-s.results.bytes)
				s.results, s.incomplete = results{}, true
			}
			s.release()
		default: // in use
		}
	}
}
