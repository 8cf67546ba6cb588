package tikvkv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	clientkv "github.com/tikv/client-go/v2/kv"
	"github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// Commit implements storage.Txn.
func (t *txn) Commit(ctx context.Context, _ storage.Durability) (storage.Timestamp, error) {
	if t.closed.Swap(true) {
		return 0, storage.ErrClosed
	}
	defer t.free()
	defer t.s.release(&t.view)
	if err := t.s.check(ctx); err != nil {
		t.held.Release()
		return 0, err
	}
	if t.buf.Empty() {
		t.held.Release()
		return t.ReadTimestamp(), nil
	}
	l := latchHold{held: t.held, most: t.s.limits.latch}
	t.held = writebuf.HeldLatches{}
	l.begin()
	defer l.returned()
	return t.commit(ctx, &l)
}

// commit passes the buffered writes to client-go, which commits them in two phases (two-phase commit of
// Percolator): prewrites of all keys, then the commit of the primary key, which decides.
func (t *txn) commit(ctx context.Context, l *latchHold) (storage.Timestamp, error) {
	s := t.s
	if err := t.checkUnchanged(ctx); err != nil {
		return 0, err
	}
	c, err := s.kv.Begin(tikv.WithStartTS(t.start))
	if err != nil {
		return 0, translate(err)
	}
	place, class := s.maxSeenTS.Load(), s.classOf(&t.buf)
	logged, err := t.bufferWrites(ctx, c, place, class)
	if err != nil {
		_ = c.Rollback() // no request was sent
		return 0, translate(err)
	}
	window := s.limits.windows[class]
	f := &fence{bound: func() uint64 {
		if t.ts < s.safePoint.Load() {
			return 1 // values that this transaction read or overwrites may be garbage-collected
		}
		return min(later(place, window), t.term.end.Load())
	}}
	c.SetRPCInterceptor(f.wrap())
	c.SetEnableAsyncCommit(s.o.AsyncCommit)
	c.SetEnable1PC(s.o.OnePhase)
	c.SetBackgroundGoroutineLifecycleHooks(transaction.LifecycleHooks{Pre: l.begin, Post: l.end})
	if t.o.Essential {
		c.SetDiskFullOpt(kvrpcpb.DiskFullOpt_AllowedOnAlmostFull)
	}
	way := s.beginInflight(logged)
	f.way = way
	e := s.beginRequest(ctx, s.limits.commit)
	f.sent = func() { e.resolvable.Store(true) } // settle finds out the outcome of a commit without an answer
	err = c.Commit(e)
	e.end()
	ts := transaction.TxnProbe{KVTxn: c}.GetCommitTS()
	if err != nil {
		if ts, err = t.failed(e, f, err); err != nil {
			if !errors.Is(err, storage.ErrUndetermined) {
				way.done(0)
			}
			return 0, err
		}
	}
	way.done(ts)
	return timestampOf(ts), nil
}

// bufferWrites passes the writes, locks and log records to the client's transaction. logged holds the log
// records with their keys.
func (t *txn) bufferWrites(ctx context.Context, c *transaction.KVTxn, place uint64, class byte) (logged []keyValue, err error) {
	s := t.s
	if locks := t.buf.Locks(); len(locks) > 0 {
		keys := make([][]byte, len(locks))
		for i, key := range locks {
			keys[i] = s.keys.user(key)
		}
		if err := c.LockKeysWithWaitTime(context.WithoutCancel(ctx), clientkv.LockNoWait, keys...); err != nil {
			return nil, err
		}
	}
	for key, value := range t.buf.All() {
		if err := t.bufferWrite(c, key, value); err != nil {
			return nil, err
		}
	}
	if len(t.buf.Logs()) > 0 {
		logged = s.logValues(t.buf.Logs(), place, class)
		for _, p := range logged {
			if err := c.Set(p.key, p.body); err != nil {
				return nil, err
			}
		}
	}
	return logged, nil
}

// bufferWrite sets one key in the client's transaction: its value, whole or in chunks. It also deletes
// the chunks of an older value that are no longer used.
func (t *txn) bufferWrite(c *transaction.KVTxn, key, value []byte) error {
	s, chunks := t.s, uint32(0)
	var err error
	switch {
	case value == nil:
		err = c.Delete(s.keys.user(key))
	case len(value) <= chunkBytes:
		err = c.Set(s.keys.user(key), append(append(make([]byte, 0, len(value)+1), valuePlain), value...))
	default:
		for rest := value; len(rest) > 0 && err == nil; chunks++ {
			n := min(chunkBytes, len(rest))
			err = c.Set(s.keys.chunk(key, chunks), rest[:n])
			rest = rest[n:]
		}
		if err == nil {
			err = c.Set(s.keys.user(key), chunkedHead(chunks, len(value)))
		}
	}
	for n := chunks; n < t.chunkCounts[string(key)] && err == nil; n++ {
		err = c.Delete(s.keys.chunk(key, n))
	}
	return err
}

// failed determines the outcome of a commit for which the client returned an error: an error for
// the caller, or the commit time if the commit has happened after all. If the outcome stays
// undetermined, a background task ends the in-flight commit once the outcome is found.
//
// A commit that came too late because the lease had expired (the machine or the cluster paused)
// waits for a new lease and then fails with a conflict, so that the caller retries.
func (t *txn) failed(e *request, f *fence, err error) (uint64, error) {
	s := t.s
	if errors.Is(named(err), storage.ErrUndetermined) {
		s.settledCommits.Add(1)
		ts, settleErr := s.settle(t.start, f)
		if settleErr == nil {
			return ts, nil
		}
		err = settleErr
	} else if f.refused.Load() {
		s.lateCommits.Add(1)
		s.slow.Store(s.o.Clock().Add(slowFor).UnixNano())
		err = fmt.Errorf("%w: the commit came too late for its place in the log: %w", storage.ErrConflict, err)
		if away := s.lease.waitUntilCovers(e.caller, s, s.maxSeenTS.Load()); away != nil {
			err = away
		}
	} else if f.aborted.Load() {
		err = fmt.Errorf("%w: %w", storage.ErrConflict, err)
	} else if !errors.Is(named(err), storage.ErrConflict) {
		return 0, e.fail(err)
	} else {
		err = translate(err)
	}
	if errors.Is(err, storage.ErrConflict) {
		s.refused.Add(1)
	}
	return 0, err
}

// settle finds out whether a transaction was committed whose commit request got no answer. It
// checks the status of the primary key. If that key is missing, the check itself makes sure that
// the transaction can never commit later. Like a request (beginRequest), settle waits longer while the cluster
// answers other requests.
//
// Errors: ErrConflict if nothing was written; ErrUndetermined if there was no answer in time: then
// the in-flight commit ends later, in the background.
func (s *store) settle(start uint64, f *fence) (uint64, error) {
	primary := f.primary.Load()
	if primary == nil {
		return 0, storage.ErrConflict // nothing was sent
	}
	answer := make(chan outcome, 1)
	s.undetermined.Add(1)
	if !s.background(func() { answer <- s.outcomeOf(start, *primary) }) {
		return 0, storage.ErrUndetermined // the store is closed: no reader waits for this commit any more
	}
	deadline := time.NewTimer(s.limits.settle)
	defer deadline.Stop()
	for times := 1; ; times++ {
		select {
		case o := <-answer:
			s.observeTS(o.ts)
			s.undetermined.Add(-1)
			return o.ts, o.err
		case <-deadline.C:
		}
		if times >= s.limits.most || !s.mayExtend(s.limits.settle) {
			break
		}
		deadline.Reset(s.limits.settle)
	}
	s.background(func() {
		if o := <-answer; !errors.Is(o.err, storage.ErrUndetermined) {
			f.way.done(o.ts)
			s.undetermined.Add(-1)
		}
	})
	return 0, fmt.Errorf("%w: the cluster does not answer", storage.ErrUndetermined)
}

// outcome holds the result of a transaction: its commit time, or an error.
type outcome struct {
	ts  uint64
	err error
}

// outcomeOf queries the status of a transaction until there is an answer or the store is closed.
func (s *store) outcomeOf(start uint64, primary []byte) outcome {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		status, err := s.kv.GetLockResolver().GetTxnStatus(start, start, primary)
		switch {
		case err == nil && status.IsCommitted():
			return outcome{ts: status.CommitTS()}
		case err == nil && status.IsRolledBack():
			return outcome{err: fmt.Errorf("%w: the commit was not answered, and did not happen", storage.ErrConflict)}
		}
		select {
		case <-time.After(wait):
		case <-s.stop:
			return outcome{err: storage.ErrUndetermined}
		}
	}
}

// background runs f in a goroutine that Close waits for. If the store is closed, background does
// not run f and returns false.
func (s *store) background(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.stopped.Go(f)
	return true
}

// noteCommit records a commit of this process at ts; 0 means that nothing was committed.
func (s *store) noteCommit(ts uint64, logged []keyValue) {
	if ts == 0 {
		return
	}
	s.observeTS(ts)
	s.commits.Add(1)
	for _, p := range logged {
		s.logCache.add(p.key, ts, p.body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = max(s.newest, timestampOf(ts))
	if !s.closed {
		close(s.wake)
		s.wake = make(chan struct{})
	}
}

// latchHold holds the latches of a commit until Commit has returned and all background work of the
// client for it has ended: committing the secondary keys, or removing them.
type latchHold struct {
	mu    sync.Mutex
	held  writebuf.HeldLatches
	n     int
	most  time.Duration
	timer *time.Timer
}

// begin counts a task that has started.
func (l *latchHold) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
}

// end counts a task that has ended; the last one releases the latches.
func (l *latchHold) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n--; l.n == 0 {
		l.release()
	}
}

// returned marks that Commit returns. Background tasks that are still running keep the latches for at
// most l.most.
func (l *latchHold) returned() {
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n > 0 {
		l.timer = time.AfterFunc(l.most, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.release()
		})
	}
}

// release releases the latches, so that waiting transactions continue; mu is held.
func (l *latchHold) release() {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.held.Release()
}
