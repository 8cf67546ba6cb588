package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
)

// Config holds the limits of a registry. The zero Config has MongoDB's defaults.
type Config struct {
	Max         int               // sessions; default 1,000,000 (parameter maxSessions)
	Now         func() time.Time  // the clock; nil = time.Now
	IdleMax     time.Duration     // after which unused sessions end; default 30 minutes (localLogicalSessionTimeoutMinutes)
	TxnMax      time.Duration     // lifetime of a transaction; default 60 s (transactionLifetimeLimitSeconds)
	ResultBytes int64             // memory for results of retryable writes, all sessions; default 64 MiB
	Memory      *ratelimit.Memory // to which sessions are charged; nil means no limit
	History     History           // nil: memory only
	// OnEnd is called for each session that ended, was killed or expired, so that its
	// cursors and operations can be ended too. May be nil.
	OnEnd func(id ID)
	// Shared means that peers with the same History may use the same sessions.
	Shared bool
	// OwnsSweep, if not nil, reports whether this server removes what the History has of ended sessions.
	OwnsSweep func(ctx context.Context) bool
}

// stripes is the number of locks over which the sessions are spread.
const stripes = 16

// Registry holds all logical sessions. Safe for concurrent use.
type Registry struct {
	began   time.Time
	cfg     Config
	stripes [stripes]stripe
	count   atomic.Int64
	// shares divides cfg.Memory, or the memory of Max sessions, among accounts.
	shares  *ratelimit.UserShares
	bytes   atomic.Int64 // of results
	trimmer sync.Mutex
	txnMax  atomic.Int64 // nanoseconds

	openMu sync.Mutex
	open   map[*Session]openTxn // transactions in progress

	stats struct {
		started, committed, aborted, replayed atomic.Int64
	}
}

// openTxn holds when a transaction began, and its maximum lifetime; 0 means the default.
type openTxn struct {
	since time.Time
	max   time.Duration
}

// sessionBytes is the heap that one session holds (TestSessionBytes).
const sessionBytes = 768

// stripe is a part of the sessions with its lock.
type stripe struct {
	mu sync.Mutex
	m  map[ID]*Session
}

// New returns an empty registry.
func New(cfg Config) *Registry {
	if cfg.Max == 0 {
		cfg.Max = 1_000_000
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.IdleMax == 0 {
		cfg.IdleMax = 30 * time.Minute
	}
	if cfg.TxnMax == 0 {
		cfg.TxnMax = time.Minute
	}
	if cfg.ResultBytes == 0 {
		cfg.ResultBytes = 64 << 20
	}
	room := cfg.Memory
	if most := int64(cfg.Max) * sessionBytes; room == nil || room.Max() > most {
		room = room.Part(most)
	}
	r := &Registry{cfg: cfg, began: cfg.Now(), shares: ratelimit.NewUserShares(room), open: map[*Session]openTxn{}}
	r.SetTxnMax(cfg.TxnMax)
	for i := range r.stripes {
		r.stripes[i].m = map[ID]*Session{}
	}
	return r
}

// IdleMax returns how long a session may be idle.
func (r *Registry) IdleMax() time.Duration { return r.cfg.IdleMax }

// SetTxnMax changes the lifetime of transactions, those in progress included.
func (r *Registry) SetTxnMax(d time.Duration) { r.txnMax.Store(int64(d)) }

func (r *Registry) stripe(id ID) *stripe { return &r.stripes[id.Stripe(stripes)] }

// get returns the session of that id and touches it. If there is none, get makes one and charges it to the
// account.
// Errors: TooManyLogicalSessions.
func (r *Registry) get(id ID, account string) (*Session, error) {
	st := r.stripe(id)
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.m[id]
	if s == nil {
		share := r.shares.Enter(account)
		if !share.Take(sessionBytes) {
			r.shares.Leave(account)
			return nil, r.tooMany(id, account, share.Stats().Used/sessionBytes)
		}
		s = &Session{ID: id, account: account, share: share, registry: r, sem: make(chan struct{}, 1), number: -1}
		st.m[id] = s
		r.count.Add(1)
	}
	s.touch()
	return s, nil
}

// tooMany returns the error for an account that has own sessions and gets no more.
func (r *Registry) tooMany(id ID, account string, own int64) error {
	return mongoerr.New(mongoerr.TooManyLogicalSessions, "Unable to add session ID %v into the cache because the number of active sessions is too high: "+
		"there are %d, %d of them of the %s; end those that are not needed (endSessions), or wait: unused ones end after %d minutes",
		id, r.count.Load(), own, account, int(r.cfg.IdleMax.Minutes()))
}

// Touch updates the last use of a session for a command without txnNumber, for startSession or
// refreshSessions. A new session is charged to the account.
// Errors: TooManyLogicalSessions.
func (r *Registry) Touch(id ID, account string) error {
	_, err := r.get(id, account)
	return err
}

// Checkout takes the session of a command with a txnNumber for exclusive use, waits for the command that
// has it, and changes its state as the command requires. Checkin must follow unless there is an error.
//
// Errors: TooManyLogicalSessions, TransactionTooOld, NoSuchTransaction, TransactionCommitted,
// ConflictingOperationInProgress, IncompleteTransactionHistory, ctx.Err(), those of History.
func (r *Registry) Checkout(ctx context.Context, a Args) (*Session, error) {
	for {
		s, err := r.get(a.ID, a.Account)
		if err != nil {
			return nil, err
		}
		select {
		case s.sem <- struct{}{}:
		default:
			select {
			case s.sem <- struct{}{}:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		s.mu.Lock()
		dead := s.removed
		if !dead {
			s.busy, s.interrupt = true, a.Interrupt
		}
		s.mu.Unlock()
		if dead { // ended during the wait; the next get makes a new one
			s.release()
			continue
		}
		if err = s.refresh(ctx, a); err == nil {
			err = s.begin(a)
		}
		if err != nil {
			s.Checkin()
			return nil, err
		}
		return s, nil
	}
}

// End removes sessions, as endSessions does; their transactions are aborted.
func (r *Registry) End(ids ...ID) {
	gone := ids[:0:0]
	for _, id := range ids {
		if r.drop(id, ErrKilled, nil) {
			gone = append(gone, id)
		}
	}
	r.forget(context.Background(), gone)
}

// EndOf ends the sessions of a dropped user; their transactions are aborted. Their entries in the History
// are swept later, because a user may have very many sessions.
func (r *Registry) EndOf(o Owner) {
	for _, id := range r.ids(func(id ID) bool { return id.Owner == o }) {
		r.drop(id, ErrKilled, nil)
	}
}

// forget removes ended sessions from the History. After an error the rest is swept later.
func (r *Registry) forget(ctx context.Context, ids []ID) {
	if h := r.cfg.History; h != nil && len(ids) > 0 {
		_ = h.Forget(ctx, ids)
	}
}

// Kill aborts the transactions of the sessions that match and interrupts their running commands. The
// sessions and their results stay: a retried write must not run twice. Kill returns the number of matches.
// Manual: reference/command/killSessions.
func (r *Registry) Kill(match func(id ID) bool) int {
	ids := r.ids(match)
	for _, id := range ids {
		if s := r.find(id); s != nil {
			s.requestAbort(ErrKilled, time.Time{})
		}
		if r.cfg.OnEnd != nil {
			r.cfg.OnEnd(id)
		}
	}
	return len(ids)
}

// Abandon aborts the transaction that a session began at begun, because its client cannot continue it. If
// the transaction has ended, or a command is using the session (the client has reconnected), it does
// nothing. The session stays.
func (r *Registry) Abandon(id ID, begun time.Time) {
	if s := r.find(id); s != nil {
		s.abortIdle(begun)
	}
}

// find returns the session of that id, nil if there is none.
func (r *Registry) find(id ID) *Session {
	st := r.stripe(id)
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.m[id]
}

// ids lists the sessions that match.
func (r *Registry) ids(match func(id ID) bool) []ID {
	var ids []ID
	for i := range r.stripes {
		st := &r.stripes[i]
		st.mu.Lock()
		for id := range st.m {
			if match(id) {
				ids = append(ids, id)
			}
		}
		st.mu.Unlock()
	}
	return ids
}

// drop removes a session if still, unless nil, returns true for it.
func (r *Registry) drop(id ID, cause error, still func(s *Session) bool) bool {
	st := r.stripe(id)
	st.mu.Lock()
	s := st.m[id]
	if s == nil || still != nil && !still(s) {
		st.mu.Unlock()
		return false
	}
	delete(st.m, id)
	r.count.Add(-1)
	s.share.Give(sessionBytes)
	r.shares.Leave(s.account)
	s.mu.Lock()
	s.removed = true
	s.mu.Unlock()
	st.mu.Unlock()

	s.requestAbort(cause, time.Time{})
	if r.cfg.OnEnd != nil {
		r.cfg.OnEnd(id)
	}
	return true
}

// addOpenTxn adds a transaction to those in progress; closed removes it.
func (r *Registry) addOpenTxn(s *Session, max time.Duration) {
	r.stats.started.Add(1)
	r.openMu.Lock()
	defer r.openMu.Unlock()
	r.open[s] = openTxn{s.begun, max}
}

// isOpen reports whether the transaction begun at since is still in progress.
func (r *Registry) isOpen(s *Session, since time.Time) bool {
	r.openMu.Lock()
	defer r.openMu.Unlock()
	t, ok := r.open[s]
	return ok && t.since.Equal(since)
}

// Txn describes a transaction in progress.
type Txn struct {
	ID     ID
	Number int64
	Since  time.Time
}

// Transactions lists the transactions in progress, in no order.
func (r *Registry) Transactions() []Txn {
	r.openMu.Lock()
	defer r.openMu.Unlock()
	list := make([]Txn, 0, len(r.open))
	for s, t := range r.open {
		list = append(list, Txn{s.ID, s.number, t.since}) // the number does not change until the transaction is closed
	}
	return list
}

func (r *Registry) removeOpenTxn(s *Session, st State) {
	if st == Committed {
		r.stats.committed.Add(1)
	} else {
		r.stats.aborted.Add(1)
	}
	r.openMu.Lock()
	defer r.openMu.Unlock()
	delete(r.open, s)
}

// Stats counts sessions and transactions. Manual: reference/command/serverStatus#transactions.
type Stats struct {
	Sessions    int
	Open        int // transactions in progress
	Started     int64
	Committed   int64
	Aborted     int64
	Replayed    int64 // statements answered from their stored results
	ResultBytes int64
}

// Stats returns the current counts.
func (r *Registry) Stats() Stats {
	r.openMu.Lock()
	open := len(r.open)
	r.openMu.Unlock()
	return Stats{
		Sessions: int(r.count.Load()), Open: open,
		Started: r.stats.started.Load(), Committed: r.stats.committed.Load(), Aborted: r.stats.aborted.Load(),
		Replayed: r.stats.replayed.Load(), ResultBytes: r.bytes.Load(),
	}
}

// Each calls f with every session and the time of its last use until f returns false.
func (r *Registry) Each(f func(id ID, used time.Time) bool) {
	for i := range r.stripes {
		st := &r.stripes[i]
		st.mu.Lock()
		for id, s := range st.m {
			if !f(id, r.began.Add(time.Duration(s.used.Load()))) {
				st.mu.Unlock()
				return
			}
		}
		st.mu.Unlock()
	}
}
