package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/ratelimit"
)

// Config holds the limits of a Registry. In the zero Config, all limits have MongoDB's defaults.
type Config struct {
	Max         int               // sessions; default 1,000,000 (parameter maxSessions)
	Now         func() time.Time  // the clock; nil = time.Now
	IdleMax     time.Duration     // after which unused sessions end; default 30 minutes (localLogicalSessionTimeoutMinutes)
	TxnMax      time.Duration     // lifetime of a transaction; default 60 s (transactionLifetimeLimitSeconds)
	ResultBytes int64             // memory in bytes for results of retryable writes of all sessions; default 64 MiB
	Memory      *ratelimit.Memory // to which sessions are charged; nil means no limit
	History     History           // nil: memory only
	// OnEnd is called for each session that has ended, was killed or has expired, so that its cursors and operations
	// can be ended too. May be nil.
	OnEnd func(id ID)
	// Shared means that peers use the same History, so that a session's next command may reach a peer.
	Shared bool
	// OwnsSweep, if not nil, reports whether this server is the one that removes old entries of ended sessions from
	// the History.
	OwnsSweep func(ctx context.Context) bool
}

// stripes is the number of locks of a Registry, each of which guards a part of the sessions.
const stripes = 16

// Registry holds all logical sessions. Safe for concurrent use.
type Registry struct {
	began   time.Time
	cfg     Config
	stripes [stripes]stripe
	count   atomic.Int64
	// shares divides the memory for sessions (cfg.Memory, or that of Max sessions) among accounts, so that one
	// account cannot take all sessions.
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

// openTxn holds the time at which a transaction began and its maximum lifetime; 0 means the default.
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

// get returns the session with an id and updates the time of its last use. If there is none, get makes a session and
// charges it to the account. Errors: TooManyLogicalSessions.
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

// tooMany returns the error for an account that may have no further session; own is the number of its sessions.
func (r *Registry) tooMany(id ID, account string, own int64) error {
	return mongoerr.New(mongoerr.TooManyLogicalSessions, "Unable to add session ID %v into the cache because the number of active sessions is too high: "+
		"there are %d, %d of them of the %s; end those that are not needed (endSessions), or wait: unused ones end after %d minutes",
		id, r.count.Load(), own, account, int(r.cfg.IdleMax.Minutes()))
}

// Touch updates the time of a session's last use, for startSession, refreshSessions or a command without txnNumber.
// If there is no such session, it makes one and charges it to the account. Errors: TooManyLogicalSessions.
func (r *Registry) Touch(id ID, account string) error {
	_, err := r.get(id, account)
	return err
}

// Checkout returns the session of a command with a txnNumber for exclusive use: it waits until the command that uses
// the session has ended, and changes the session's state as the command requires. If there is no error, the caller
// calls Checkin afterwards.
//
// Errors: TooManyLogicalSessions, TransactionTooOld, NoSuchTransaction, TransactionCommitted,
// ConflictingOperationInProgress, IncompleteTransactionHistory, ctx.Err(), errors of History.
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

// EndOf ends all sessions of a dropped user and aborts their transactions. Their entries in the History are removed
// later, by Run, because a user may have very many sessions.
func (r *Registry) EndOf(o Owner) {
	for _, id := range r.ids(func(id ID) bool { return id.Owner == o }) {
		r.drop(id, ErrKilled, nil)
	}
}

// forget removes ended sessions from the History. If an error stops it, Run removes the rest later.
func (r *Registry) forget(ctx context.Context, ids []ID) {
	if h := r.cfg.History; h != nil && len(ids) > 0 {
		_ = h.Forget(ctx, ids)
	}
}

// Kill aborts the transactions of the matching sessions and interrupts their running commands. The sessions and
// their results stay, because a retried write must not run twice. Kill returns the number of matching sessions.
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

// Abandon aborts the transaction that a session began at the time begun, because its client cannot continue the
// transaction. It does nothing if the transaction has ended, or if a command is using the session (the client has
// reconnected). The session stays.
func (r *Registry) Abandon(id ID, begun time.Time) {
	if s := r.find(id); s != nil {
		s.abortIdle(begun)
	}
}

// find returns the session with an id, nil if there is none.
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

// drop removes a session from the registry, aborts its transaction with cause, and calls OnEnd. If still is not nil
// and returns false, the session stays. drop reports whether it removed a session.
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

// addOpenTxn adds the transaction of a session to the transactions in progress, which expireTxns checks;
// removeOpenTxn removes it.
func (r *Registry) addOpenTxn(s *Session, max time.Duration) {
	r.stats.started.Add(1)
	r.openMu.Lock()
	defer r.openMu.Unlock()
	r.open[s] = openTxn{s.begun, max}
}

// isOpen reports whether the transaction that the session began at the time since is still in progress.
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

// Each calls f with the id of every session and the time of its last use, until f returns false.
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
