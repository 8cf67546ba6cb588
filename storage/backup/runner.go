package backup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cantledb/cantle/storage"
)

// Policy holds a server's settings for backups: the folder, and the intervals of automatic backups. Without a
// folder no backups are made.
type Policy struct {
	To       Archive       // nil = none
	Data     string        // the data folder; backups must not lie in it
	Interval time.Duration // time between two bases; 0 = only on request
	// LogInterval is the time between two segments, which copy the log since the last one.
	LogInterval time.Duration
	Retention   time.Duration // the age up to which moments can be restored; 0 = no limit
	Rate        int64         // bytes per second at which files are copied; 0 = no limit
}

// Automatic reports whether the server makes backups without a request, at the policy's interval.
func (p *Policy) Automatic() bool { return p.To != nil && p.Interval > 0 }

// retryEvery is the maximum interval of retries after failures; at first it is that of segments.
const retryEvery = time.Minute

// Runner makes backups of a store, one at a time: on request of a client, and automatically by a policy. A request
// during a backup gets ErrRunning.
type Runner struct {
	src     Source
	policy  Policy
	program string
	now     func() time.Time
	// report is called with a message after each automatic base and when kept logs are given up, and with the
	// error after a failure.
	report func(what string, err error)
	// Deposed, if not nil, is called once when another server was promoted in place of this one. Then Run ends.
	Deposed func(ctx context.Context, t Term)
	deposed sync.Once

	failures int // consecutive ones of automatic backups; only Run uses it

	kept *backupRun // left open by the last backup; nil = none. Only the running backup uses it
	idle idleness   // of the policy's archive, likewise

	mu     sync.Mutex
	status Status
}

// Status is the state of a server's backups, as serverStatus shows it to clients.
type Status struct {
	Policy   Policy
	Running  bool
	To       string // the folder of the backup in progress
	Since    time.Time
	Progress Progress

	Made     int64     // bases made since the start of the server
	Shipped  int64     // segments written, without those of bases
	Failed   int64     // failed attempts
	LastEnd  time.Time // end of the last base, made by this process or found at its start; zero = none
	LastTo   string
	Covered  storage.Timestamp // the newest moment that can be restored from LastTo
	LastErr  string            // the error of the last attempt, "" if it succeeded
	FailedAt time.Time
}

// ErrRunning: another backup is in progress.
var ErrRunning = errors.New("a backup is being made already; wait for its end")

// NewRunner creates a Runner of backups, which does nothing before Run or a request. program is the version of the
// program; report, which may be nil, becomes Runner.report.
func NewRunner(src Source, policy Policy, program string, now func() time.Time, report func(what string, err error)) *Runner {
	if report == nil {
		report = func(string, error) {}
	}
	return &Runner{src: src, policy: policy, program: program, now: now, report: report, status: Status{Policy: policy}}
}

// Status returns the current state.
func (r *Runner) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// TakeOnRequest makes a base in the folder that a client requests, and returns that folder, which must be the
// policy's folder or one directly in it. Errors: FolderError, ErrRunning; as Take.
func (r *Runner) TakeOnRequest(ctx context.Context, to string) (location string, b *Base, err error) {
	a, err := r.requested(to)
	if err != nil {
		return "", nil, &FolderError{err}
	}
	b, err = r.take(ctx, a)
	return a.Location(), b, err
}

// FolderError is the error for a backup folder that a client requests and the policy does not allow.
type FolderError struct{ error }

// take makes a base in an archive, and records it in the status. Errors: ErrRunning; as Take.
func (r *Runner) take(ctx context.Context, a Archive) (b *Base, err error) {
	if err := r.begin(a); err != nil {
		return nil, err
	}
	defer func() { r.end(err) }()
	if a.Location() != r.policy.To.Location() {
		if err := r.policy.To.Prepare(ctx); err != nil { // the parent of the archive
			return nil, err
		}
	}
	report := func(p Progress) {
		r.mu.Lock()
		r.status.Progress = p
		r.mu.Unlock()
	}
	b, err = r.takeInto(ctx, a, report)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Made++
	r.status.LastEnd, r.status.LastTo, r.status.Covered = b.Ended, a.Location(), b.Time
	return b, nil
}

// ship writes a segment, the log since the last one, into the policy's archive. Errors: ErrRunning; as Ship.
func (r *Runner) ship(ctx context.Context) (err error) {
	if err := r.begin(r.policy.To); err != nil {
		return err
	}
	defer func() { r.end(err) }()
	s, err := r.shipInto(ctx, r.policy.To)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Shipped++
	r.status.LastTo, r.status.Covered = r.policy.To.Location(), s.Time
	return nil
}

func (r *Runner) begin(a Archive) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status.Running {
		return ErrRunning
	}
	r.status.Running, r.status.To, r.status.Since, r.status.Progress = true, a.Location(), r.now(), Progress{}
	return nil
}

func (r *Runner) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Running, r.status.To = false, ""
	r.status.LastErr = ""
	if err != nil {
		r.status.Failed++
		r.status.LastErr, r.status.FailedAt = err.Error(), r.now()
	}
}

// Run makes the automatic backups of the policy until ctx ends. A base is due an interval after the last one, which
// may be one on request or of an earlier process, or if the log has a gap or the folder no base; in between, and at the end, segments
// are written. If the policy is not automatic, Run only stops keeping logs that no backup needs any more. It also examines the terms
// of the archive, and ends when another server was promoted.
func (r *Runner) Run(ctx context.Context) {
	undeposed, end := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer end()
	watch.Go(func() {
		if t := r.watchTerms(undeposed); t != nil {
			end() // a base that is being made is useless
			r.depose(ctx, *t)
		}
	})
	if !r.policy.Automatic() {
		r.watchRetention(undeposed)
		return
	}
	defer r.endKept()
	r.findLast(undeposed)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-undeposed.Done():
			if ctx.Err() != nil {
				r.shipLast(ctx)
			}
			return
		case <-timer.C:
		}
		wait, err := r.step(undeposed)
		if deposed := (*DeposedError)(nil); errors.As(err, &deposed) {
			r.depose(ctx, deposed.Term)
			return
		}
		timer.Reset(wait)
	}
}

// lastShipMax is the maximum time of the last segment or base of a server that stops.
const lastShipMax = 5 * time.Second

// shipLast writes the last segment of a server that stops, so that a follower that is promoted afterwards has everything; the base, if
// the server stops before its first one is complete. A failure is not reported again, and delays nothing: the next start continues.
func (r *Runner) shipLast(ctx context.Context) {
	if r.failures > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastShipMax)
	defer cancel()
	if r.Status().LastEnd.IsZero() {
		_, _ = r.take(ctx, r.policy.To)
		return
	}
	_ = r.ship(ctx)
}

// findLast sets in the status when the last backup of this data folder was made, perhaps by an earlier process.
func (r *Runner) findLast(ctx context.Context) {
	f, err := Open(ctx, r.policy.To)
	if err != nil {
		return // the first attempt reports the error
	}
	kept, err := r.src.KeepWrites()
	if err != nil {
		return
	}
	id, err := readIdentity(kept)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range f.Timelines {
		if b := t.newest(); t.ID == id.Timeline && b != nil && t.restorable(b) {
			r.status.LastEnd, r.status.LastTo, r.status.Covered = b.Ended, r.policy.To.Location(), t.end()
		}
	}
}

// step makes the base or the segment that is due, deletes old backups after a base, and returns the time to wait
// until the next step, with the error, which was reported unless it is a DeposedError.
func (r *Runner) step(ctx context.Context) (time.Duration, error) {
	every := min(r.policy.LogInterval, r.policy.Interval)
	last := r.Status().LastEnd
	due := last.IsZero() || r.now().Sub(last) >= r.policy.Interval
	var err error
	if !due {
		err = r.ship(ctx)
		// If the writes since the last segment are gone, only a new base can continue.
		due = errors.Is(err, storage.ErrLogTruncated) || errors.Is(err, errNoBase)
	}
	if due {
		var b *Base
		if b, err = r.take(ctx, r.policy.To); err == nil {
			r.report("a backup was made: "+r.policy.To.Location(), nil)
			if r.policy.Retention > 0 {
				before := max(0, b.Ended.Add(-r.policy.Retention).Unix())
				err = r.pruneOld(ctx, storage.MakeTimestamp(uint32(before), 0))
			}
		}
	}
	if err == nil || errors.Is(err, ErrRunning) {
		r.failures = 0
		return every, nil
	}
	if errors.As(err, new(*DeposedError)) {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, err // no failure: the server stops, and shipLast continues
	}
	wait := min(retryEvery, every<<min(r.failures, 10))
	r.failures++
	r.report(fmt.Sprintf("a backup failed and will be tried again in %v: moments since the last one cannot be restored until it succeeds", wait), err)
	return wait, err
}
