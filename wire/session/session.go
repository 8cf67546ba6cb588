package session

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
)

// State is the state of the transaction with the highest txnNumber of a session; None if that number belongs to a
// retryable write.
type State uint8

// The states. None: no transaction, perhaps a retryable write.
const (
	None State = iota
	InProgress
	Committed
	Aborted
	Undetermined // a commit whose outcome is not known yet
)

// String names the state as MongoDB's texts do.
func (s State) String() string {
	return [...]string{"TxnState::None", "TxnState::InProgress", "TxnState::Committed", "TxnState::AbortedWithoutPrepare", "TxnState::CommittingUnknown"}[s]
}

// Causes passed to Args.Interrupt.
var (
	// ErrKilled: killSessions, killAllSessions or endSessions, or the user was dropped.
	ErrKilled = errors.New("session killed")
	// ErrExpired: the transaction ran longer than allowed, or its session was idle for too long.
	ErrExpired = errors.New("transaction exceeded its lifetime")
)

// Holding is the store's transaction that a session holds for the client's transaction, with what belongs to it. The
// caller of Attach supplies it.
type Holding struct {
	Txn     storage.Txn
	View    any    // belongs to the caller, for example the read view of its commands
	Release func() // called once after Txn ended; may be nil
}

// Session is a logical session of a client. Between Checkout and Checkin, only the goroutine that checked it out may
// call its methods.
type Session struct {
	ID ID

	account  string            // to which it is charged
	share    *ratelimit.Memory // of the account
	registry *Registry
	used     atomic.Int64  // time of the last use, as Registry.elapsed returns it
	sem      chan struct{} // holds one token while checked out

	// Guarded by sem.
	loaded       bool // from the History
	number       int64
	state        State
	begun        time.Time
	user         [16]byte // that began the transaction
	committed    storage.Timestamp
	hold         Holding
	api          API
	results      results
	incomplete   bool     // results of this number were dropped
	saved        []int32  // first statements passed to SaveResult by the current command
	heads        []uint64 // heads of the history (see Heads) that were read, or saved by this command since
	undetermined []int32  // statements whose commits are undetermined

	// Guarded by mu: fields that other goroutines use while a command has the session checked out.
	mu         sync.Mutex
	removed    bool // no longer in the registry
	busy       bool
	abortCause error // why the transaction must end at Checkin
	interrupt  func(error)
}

// touch updates the time of the last use.
func (s *Session) touch() { s.used.Store(int64(s.registry.elapsed())) }

// State returns the state of the transaction.
func (s *Session) State() State { return s.state }

// TxnNumber returns the highest number seen, -1 if none.
func (s *Session) TxnNumber() int64 { return s.number }

// Begun returns the time at which the transaction began; by it Abandon distinguishes the transaction from later ones
// of the session.
func (s *Session) Begun() time.Time { return s.begun }

// API returns the arguments of the stable API of the transaction's first command, which its later commands must
// repeat.
func (s *Session) API() API { return s.api }

// Txn returns the Holding that was passed to Attach; it is empty before Attach and after the end of the transaction,
// except that its View stays after an undetermined commit.
func (s *Session) Txn() Holding { return s.hold }

// Attach passes the store's transaction to the session, at the first read or write of the client's transaction. From
// then on the session owns it, and ends it.
func (s *Session) Attach(h Holding) {
	if s.state != InProgress || s.hold.Txn != nil {
		mongoerr.Bug("Attach in state %v", s.state)
	}
	s.hold = h
}

// begin checks whether the command may run in the session's state, by the rules for txnNumber, autocommit and
// startTransaction, and starts the transaction or retryable write of a new number. Errors: TransactionTooOld,
// NoSuchTransaction, TransactionCommitted, ConflictingOperationInProgress, IncompleteTransactionHistory.
func (s *Session) begin(a Args) error {
	n := a.TxnNumber
	switch {
	case n < s.number && a.InTxn:
		return mongoerr.New(mongoerr.TransactionTooOld,
			"Cannot start transaction with { txnNumber: %d } on session %v because a newer transaction with txnNumber %d has already started on this session.", n, s.ID, s.number)
	case n < s.number:
		return mongoerr.New(mongoerr.TransactionTooOld,
			"Retryable write with txnNumber %d is prohibited on session %v because a newer retryable write with txnNumber %d has already started on this session.", n, s.ID, s.number)
	case !a.InTxn:
		if n == s.number && s.state != None {
			return mongoerr.New(mongoerr.IncompleteTransactionHistory,
				"Cannot retry a retryable write that has been converted to a transaction. Transaction number %d on session %v", n, s.ID)
		}
		if n > s.number {
			s.advance(n, None)
		}
		return nil
	case a.Start:
		if n == s.number {
			return mongoerr.New(mongoerr.ConflictingOperationInProgress,
				"Cannot start a transaction with given transaction number %d: a transaction with the same number is in state %v", n, s.state)
		}
		s.advance(n, InProgress)
		s.api, s.user = a.API, a.User
		s.begun = time.Now()
		s.registry.addOpenTxn(s, a.TxnMax)
		return nil
	case n > s.number:
		return mongoerr.New(mongoerr.NoSuchTransaction,
			"Given transaction number %d does not match any in-progress transactions. The active transaction number is %d", n, s.number)
	}
	if s.state == InProgress && a.User != s.user && a.User != [16]byte{} {
		return s.errAborted() // a dropped user of the same name began it
	}
	switch s.state {
	case None:
		return mongoerr.New(mongoerr.NoSuchTransaction,
			"Given transaction number %d does not match any in-progress transactions. The active transaction number is %d", n, s.number)
	case Aborted:
		return s.errAborted()
	case Committed, Undetermined:
		if !a.Ending {
			return s.errCommitted()
		}
	}
	return nil
}

func (s *Session) errAborted() error {
	return mongoerr.New(mongoerr.NoSuchTransaction, "Transaction with { txnNumber: %d } has been aborted.", s.number)
}

func (s *Session) errCommitted() error {
	return mongoerr.New(mongoerr.TransactionCommitted, "Transaction with { txnNumber: %d } has been committed.", s.number)
}

// advance sets a new transaction number and its state. If the transaction of the number before is in progress,
// advance aborts it.
func (s *Session) advance(n int64, st State) {
	if s.state == InProgress {
		s.end(Aborted)
	}
	s.registry.resize(-s.results.bytes)
	s.results, s.incomplete = results{}, false
	s.hold = Holding{}
	s.number, s.state, s.committed = n, st, 0
}

// end leaves InProgress and releases what the transaction holds.
func (s *Session) end(st State) {
	s.state = st
	h := s.hold
	s.hold = Holding{}
	if h.Txn != nil {
		h.Txn.Close()
	}
	if h.Release != nil {
		h.Release()
	}
	s.registry.removeOpenTxn(s, st)
}

// Commit commits the transaction and ends it. After a success, a repeated Commit succeeds too. at is the timestamp of
// the commit, or a later one after ErrUndetermined; 0 if the transaction neither read nor wrote. For a commit that was
// loaded from the History, at has no meaning.
//
// Errors: errors of storage.Txn.Commit. After ErrUndetermined, a further Commit reads the outcome from the History;
// after any other error the transaction is aborted. NoSuchTransaction if it was aborted before.
func (s *Session) Commit(ctx context.Context, d storage.Durability) (at storage.Timestamp, err error) {
	switch s.state {
	case Committed:
		return s.committed, nil
	case Undetermined:
		return s.resolveCommit(ctx)
	case InProgress:
	default:
		return 0, s.errAborted()
	}
	if t := s.hold.Txn; t != nil {
		if h := s.registry.cfg.History; h != nil {
			err = h.SaveCommit(t, s.ID, s.number)
		}
		if err == nil {
			at, err = t.Commit(ctx, d)
		}
	}
	switch {
	case err == nil:
		s.committed = at
		s.end(Committed)
	case errors.Is(err, storage.ErrUndetermined):
		view := s.hold.View
		s.end(Undetermined)
		s.hold.View = view // for the caller, if a later Commit finds that the transaction was committed
	default:
		s.end(Aborted)
	}
	return at, err
}

// resolveCommit determines the outcome of a commit that was undetermined, by making it final in the History. Errors:
// ErrUndetermined while the outcome cannot be read, NoSuchTransaction if the transaction was not committed.
func (s *Session) resolveCommit(ctx context.Context) (at storage.Timestamp, err error) {
	h := s.registry.cfg.History
	if h == nil {
		return 0, storage.ErrUndetermined
	}
	at, committed, err := h.MakeCommitFinal(ctx, s.ID, s.number)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w", storage.ErrUndetermined, err)
	case !committed:
		s.state, s.hold = Aborted, Holding{}
		return 0, s.errAborted()
	}
	s.state, s.committed = Committed, at
	return at, nil
}

// Abort ends the transaction without any effect, for abortTransaction or because a statement failed. Errors:
// NoSuchTransaction if the transaction was aborted before; TransactionCommitted if it was committed, or its commit is
// undetermined.
func (s *Session) Abort() error {
	switch s.state {
	case InProgress:
		s.end(Aborted)
		return nil
	case Committed, Undetermined:
		return s.errCommitted()
	}
	return s.errAborted()
}

// Replay returns the stored result of a statement of the current retryable write, if the statement has already run.
// The caller must not change the result. Errors: IncompleteTransactionHistory if results were dropped, so that the
// statement must not run again.
func (s *Session) Replay(stmt int32) (bson.Raw, bool, error) {
	r, ok := s.results.get(stmt)
	if !ok && s.incomplete {
		return nil, false, mongoerr.New(mongoerr.IncompleteTransactionHistory,
			"Incomplete history detected for transaction %d on session %v", s.number, s.ID)
	}
	if ok {
		s.registry.stats.replayed.Add(1)
	}
	return r, ok, nil
}

// SaveResult saves the common result of the statements first to last in the History, inside t, the transaction in
// which they ran. The caller calls Remember after t is committed.
func (s *Session) SaveResult(ctx context.Context, t storage.Txn, first, last int32, result bson.Raw) error {
	h := s.registry.cfg.History
	if h == nil {
		return nil
	}
	if err := s.advanceHead(ctx, t); err != nil {
		return err
	}
	if n := len(s.saved); n == 0 || s.saved[n-1] != first { // a statement may run again
		s.saved = append(s.saved, first)
	}
	return h.Save(t, s.ID, s.number, first, last, result)
}

// Remember keeps a copy of a statement's result in memory, for Replay. The caller has committed the effect of the
// statement.
func (s *Session) Remember(stmt int32, result bson.Raw) {
	before := s.results.bytes
	s.results.add(stmt, result)
	s.registry.resize(s.results.bytes - before)
}

// Invalidate drops the results in memory of the current retryable write, after a command failed while some of its
// statements may have taken effect: the next command reads the results from the History. Without a History, the
// results become incomplete. If cause is ErrUndetermined, the next command first makes the outcome final with
// MakeFinal.
func (s *Session) Invalidate(cause error) {
	if s.state != None {
		return
	}
	if errors.Is(cause, storage.ErrUndetermined) {
		s.undetermined = append(s.undetermined, s.saved...)
	}
	s.registry.resize(-s.results.bytes)
	s.results = results{}
	s.loaded = false
	s.incomplete = s.registry.cfg.History == nil
}

// load reads the session from the History, once.
func (s *Session) load(ctx context.Context) error {
	h := s.registry.cfg.History
	if s.loaded || h == nil {
		return nil
	}
	if len(s.undetermined) > 0 {
		if err := h.MakeFinal(ctx, s.ID, s.undetermined); err != nil {
			return fmt.Errorf("session %v: %w", s.ID, err)
		}
		s.undetermined = nil
	}
	p, ok, err := h.Load(ctx, s.ID)
	if err != nil {
		return fmt.Errorf("session %v: %w", s.ID, err)
	}
	s.loaded = true
	s.heads = append(s.heads[:0], p.Head)
	if !ok || p.TxnNumber < s.number {
		return nil
	}
	if s.state == InProgress && p.TxnNumber > s.number {
		s.end(Aborted) // the session was used at a peer since
	}
	if p.TxnNumber > s.number {
		s.state, s.incomplete = None, false
	}
	s.number = p.TxnNumber
	if p.Committed {
		s.state = Committed
	}
	for _, r := range p.Results {
		for stmt := r.First; stmt <= r.Last; stmt++ {
			s.Remember(stmt, r.Result)
		}
	}
	return nil
}

// Checkin makes the session available to the next command, after Checkout. If the session was killed or has expired
// meanwhile, Checkin aborts its transaction.
func (s *Session) Checkin() {
	s.saved = nil
	s.touch()
	s.release()
	s.registry.trim()
}

// release makes the session free for the next goroutine: it takes the token out of sem. Before, it aborts the
// transaction if other goroutines requested that meanwhile. Every goroutine that put the token into sem calls
// release, so that no request is lost.
func (s *Session) release() {
	for {
		s.mu.Lock()
		if s.state == InProgress && (s.removed || s.abortCause != nil) {
			s.abortCause = nil
			s.mu.Unlock()
			s.end(Aborted) // may take long, so not under mu
			continue
		}
		if s.removed {
			s.registry.resize(-s.results.bytes)
			s.results = results{}
		}
		s.busy, s.abortCause, s.interrupt = false, nil, nil
		<-s.sem // under mu: a goroutine that requests an abort sees either this holder or the free session
		s.mu.Unlock()
		return
	}
}

// requestAbort aborts the session's transaction: at once if no command uses the session; otherwise it interrupts the
// command, and Checkin aborts. If since is not zero, only a transaction that began at that time is aborted.
func (s *Session) requestAbort(cause error, since time.Time) {
	for {
		if s.abortIdle(since) {
			return
		}
		if !since.IsZero() && !s.registry.isOpen(s, since) {
			return
		}
		s.mu.Lock()
		busy, f := s.busy, s.interrupt
		if busy {
			s.abortCause = cause
		}
		s.mu.Unlock()
		if busy {
			if f != nil {
				f(cause)
			}
			return
		}
		runtime.Gosched() // the token is changing hands
	}
}

// abortIdle aborts the session's transaction if it began at the time since (or at any time, if since is zero). If a
// command uses the session, abortIdle does nothing and returns false.
func (s *Session) abortIdle(since time.Time) bool {
	select {
	case s.sem <- struct{}{}:
	default:
		return false
	}
	if s.state == InProgress && (since.IsZero() || s.begun.Equal(since)) {
		s.end(Aborted)
	}
	s.release()
	return true
}
