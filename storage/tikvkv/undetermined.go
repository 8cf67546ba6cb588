package tikvkv

import (
	"errors"
	"fmt"
	"time"

	"github.com/cantledb/cantle/storage"
)

// failed determines the outcome of a commit for which the client returned an error: an error for
// the caller, or the commit time if the commit has happened after all. If the outcome stays
// undetermined, a background task ends the in-flight commit once the outcome is found.
//
// If the fence refused the commit as too late, failed waits for a new lease, if the old one has expired (the machine
// or the cluster paused), and then returns ErrConflict, so that the caller retries, or the error of that wait.
func (m *committer) failed(e *request, f *fence, start uint64, err error) (uint64, error) {
	if errors.Is(named(err), storage.ErrUndetermined) {
		m.settled.Add(1)
		ts, settleErr := m.settle(start, f)
		if settleErr == nil {
			return ts, nil
		}
		err = settleErr
	} else if f.refused.Load() {
		m.late.Add(1)
		m.slow.Store(m.o.Clock().Add(slowFor).UnixNano())
		err = fmt.Errorf("%w: the commit came too late for its place in the log: %w", storage.ErrConflict, err)
		if waitErr := m.lease.waitUntilCovers(e.caller, m.oracle.maxSeenTS.Load()); waitErr != nil {
			err = waitErr
		}
	} else if f.aborted.Load() {
		err = fmt.Errorf("%w: %w", storage.ErrConflict, err)
	} else if !errors.Is(named(err), storage.ErrConflict) {
		return 0, e.fail(err)
	} else {
		err = translate(err)
	}
	if errors.Is(err, storage.ErrConflict) {
		m.refused.Add(1)
	}
	return 0, err
}

// settle returns the commit time of a transaction whose commit request got no answer, if the transaction was
// committed. It checks the status of the primary key. If that key is missing, the check itself makes sure that the
// transaction can never commit later. Like a request (beginRequest), settle waits longer while the cluster answers
// other requests.
//
// Errors: ErrConflict if nothing was written; ErrUndetermined if there was no answer in time (then the in-flight
// commit ends later, in the background) or the store was closed.
func (m *committer) settle(start uint64, f *fence) (uint64, error) {
	primary := f.primary.Load()
	if primary == nil {
		return 0, storage.ErrConflict // nothing was sent
	}
	answer := make(chan outcome, 1)
	m.cached.undetermined.Add(1)
	if !m.life.background(func() { answer <- m.outcomeOf(start, *primary) }) {
		return 0, storage.ErrUndetermined // the store is closed: no reader waits for this commit any more
	}
	deadline := time.NewTimer(m.limits.settle)
	defer deadline.Stop()
	for times := 1; ; times++ {
		select {
		case o := <-answer:
			m.oracle.observeTS(o.ts)
			m.cached.undetermined.Add(-1)
			return o.ts, o.err
		case <-deadline.C:
		}
		if times >= m.limits.most || !m.cluster.mayExtend(m.limits.settle) {
			break
		}
		deadline.Reset(m.limits.settle)
	}
	m.life.background(func() {
		if o := <-answer; !errors.Is(o.err, storage.ErrUndetermined) {
			m.finish(f.inflight, o.ts)
			m.cached.undetermined.Add(-1)
		}
	})
	return 0, fmt.Errorf("%w: the cluster does not answer", storage.ErrUndetermined)
}

// outcome holds the result of a transaction: its commit time, or an error.
type outcome struct {
	ts  uint64
	err error
}

// outcomeOf queries the status of a transaction, by its start timestamp and primary key, again and again until there
// is an answer or the store is closed.
func (m *committer) outcomeOf(start uint64, primary []byte) outcome {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		status, err := m.cluster.kv.GetLockResolver().GetTxnStatus(start, start, primary)
		switch {
		case err == nil && status.IsCommitted():
			return outcome{ts: status.CommitTS()}
		case err == nil && status.IsRolledBack():
			return outcome{err: fmt.Errorf("%w: the commit was not answered, and did not happen", storage.ErrConflict)}
		}
		select {
		case <-time.After(wait):
		case <-m.life.stop:
			return outcome{err: storage.ErrUndetermined}
		}
	}
}
