package jobs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/peers"
	"github.com/cantledb/cantle/shard/tally"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Config holds the parts and settings of a Runner. Zero times and sizes select the defaults.
type Config struct {
	Store   storage.Store
	Catalog *catalog.Catalog
	Budgets *ratelimit.Budgets
	Tally   *tally.Board
	// Self is the name of this server in the progress that peers show.
	Self string
	// Orphans, if not nil, removes what commands of dead servers have left behind. One of several
	// servers calls it periodically.
	Orphans func(ctx context.Context, alive func(storage.MemberID) bool) error
	// Rewrite repeats a catalog.Rewriting that the end of a process interrupted; if nil, the
	// rewriting is dropped.
	Rewrite func(ctx context.Context, coll *catalog.Collection) error
	// CPUSlots bounds the processor time of jobs; nil means no bound.
	CPUSlots *mql.CPUSlots
	// Release is the release with which stored definitions are parsed.
	Release release.Release
	// Now is the clock of budgets and of expiry.
	Now func() time.Time
	// Pools holds the default switches of the budgets of collections and databases.
	Pools ratelimit.Options
	// Failed is called when background work fails and will be retried.
	Failed func(job string, err error)
	// Renewing is called at the beginning and at the end of each rebuild of an outdated index.
	Renewing func(Renewal)

	ExpireEvery     time.Duration // between two passes of the TTL deleter; 60 s
	CheckpointEvery time.Duration // between two checkpoints of the counts; 2 s
	TruncateEvery   time.Duration // between two truncations of the change log; 30 s
	LogSeconds      int64         // age up to which change-log records are kept; 24 h
	ReadOnly        bool          // write nothing, and count readable documents only, skipping damaged ones
	LogBytes        int64         // bytes of the change log that are kept; 0 = by time only
	LockWait        time.Duration // maximum wait for a collection that is being resharded; 5 s
}

// Runner owns the background goroutines of a server, and does the slow part of
// DDL for its callers. Safe for concurrent use.
type Runner struct {
	Config
	Owners         *peers.Owners // of the jobs of all servers over the store
	expireEvery    atomic.Int64  // nanoseconds; SetExpireEvery
	expireOff      atomic.Bool
	passes         atomic.Int64
	expired        atomic.Int64
	expireWake     chan struct{} // wakes the loop early
	expireLock     chan struct{} // held by the command for which ExpireDue deletes
	deleteWake     chan struct{}
	publishWake    chan struct{} // wakes the loop early
	peerJobs       peerJobs
	structureLocks structureLocks
	filling        idSet // collections that Reshard fills
	progress       registry
	counts         counts
	planned        plannedEntries
	resharding     reshards
	stopping       atomic.Bool                       // Stopping
	stepped        atomic.Pointer[func(step string)] // OnStep

	mu     sync.Mutex
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
}

// ErrStopped is the cause with which the work of a stopped Runner ends.
var ErrStopped = errors.New("jobs: the server is shutting down")

// New makes a Runner that has not started its loops.
func New(c Config) *Runner {
	setDefault(&c.ExpireEvery, 60*time.Second)
	setDefault(&c.CheckpointEvery, 2*time.Second)
	setDefault(&c.TruncateEvery, 30*time.Second)
	setDefault(&c.LockWait, 5*time.Second)
	if c.LogSeconds == 0 {
		c.LogSeconds = 24 * 3600
	}
	if c.Failed == nil {
		c.Failed = func(string, error) {}
	}
	if c.Renewing == nil {
		c.Renewing = func(Renewal) {}
	}
	r := &Runner{Config: c, Owners: peers.NewOwners(c.Store), expireWake: make(chan struct{}, 1), expireLock: make(chan struct{}, 1), deleteWake: make(chan struct{}, 1), publishWake: make(chan struct{}, 1)}
	r.expireEvery.Store(int64(c.ExpireEvery))
	return r
}

func setDefault(d *time.Duration, to time.Duration) {
	if *d == 0 {
		*d = to
	}
}

// Start begins the loops and finishes what an earlier process left unfinished. Recover is called
// before, and Stop at the end.
func (r *Runner) Start(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	r.cancel = cancel
	r.mu.Unlock()
	if r.exclusive() { // with peers, the owners of jobs do this at any time, instead of once at the start
		r.renewUnique(ctx)
		r.loop(ctx, "resume", r.resumeExclusive)
	} else {
		r.loop(ctx, "resume", r.resumeLoop)
		r.loop(ctx, "tell", r.publishLoop)
		r.loop(ctx, "collect", r.collectLoop)
	}
	r.loop(ctx, "delete", r.deleteLoop)
	r.loop(ctx, "expire", r.expireLoop)
	r.loop(ctx, jobPlanned, r.plannedLoop)
	r.loop(ctx, "checkpoint", r.checkpointLoop)
	r.loop(ctx, "truncate", r.truncateLoop)
}

// panicPause is the pause before a loop that panicked runs again.
const panicPause = time.Minute

// loop runs fn in a goroutine that Stop waits for. After a panic fn runs again, panicPause later.
func (r *Runner) loop(ctx context.Context, name string, fn func(ctx context.Context)) {
	r.wg.Go(func() {
		for !r.runRecovering(ctx, name, fn) && sleep(ctx, panicPause, nil) {
			continue
		}
	})
}

// runRecovering runs fn. It returns false after a panic, which it reports.
func (r *Runner) runRecovering(ctx context.Context, name string, fn func(ctx context.Context)) (well bool) {
	defer func() { r.report(name, mongoerr.Recovered(recover())) }()
	fn(ctx)
	return true
}

// Stopping announces the shutdown of the server: a rewriting that is interrupted from now on is
// repeated after the next start.
func (r *Runner) Stopping() { r.stopping.Store(true) }

// Stop ends the loops, waits for them, writes a last checkpoint if this server owns the counts, and gives up its
// ownerships. Jobs run by callers must have ended before.
func (r *Runner) Stop() error {
	r.mu.Lock()
	cancel := r.cancel
	r.cancel = nil
	r.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel(ErrStopped)
	r.wg.Wait()
	if !r.Owners.Owns(jobCounts) {
		return r.Owners.ReleaseAll(context.Background())
	}
	err := r.Checkpoint(context.Background())
	return errors.Join(err, r.Owners.ReleaseAll(context.Background()))
}

// report calls Config.Failed with the error of a job, unless the error comes from the shutdown of the server.
func (r *Runner) report(job string, err error) {
	if err != nil && !errors.Is(err, ErrStopped) && !errors.Is(err, context.Canceled) && !errors.Is(err, storage.ErrClosed) {
		r.Failed(job, err)
	}
}

// env makes the language environment of a job.
func (r *Runner) env(ctx context.Context) *mql.Env {
	env := mql.NewEnv(ctx)
	env.NowMillis = r.Now().UnixMilli()
	env.Release, env.ServerRelease, env.Slot = r.Release, r.Release, slotOf(ctx)
	env.JavaScript = true // definitions in the catalog were checked when they were made
	return env
}

// wake makes a loop run early.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sleep waits for d or until early; it returns false if ctx has ended.
func sleep(ctx context.Context, d time.Duration, early <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	case <-early:
	}
	return true
}

// idSet is a set of collections.
type idSet struct {
	mu sync.Mutex
	m  map[keyspace.CollectionID]bool
}

func (s *idSet) add(id keyspace.CollectionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[keyspace.CollectionID]bool{}
	}
	s.m[id] = true
}

func (s *idSet) remove(id keyspace.CollectionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, id)
}

func (s *idSet) has(id keyspace.CollectionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[id]
}
