package backup

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cantledb/cantle/storage"
)

// Policy is where a server makes backups, and what it does by itself; without a folder it makes none.
type Policy struct {
	Folder    string
	Data      string        // that of the data, in which no backup lies
	Interval  time.Duration // between bases; 0 = only when it is asked
	Retention time.Duration // how far back moments can be restored; 0 = for ever
	Rate      int64         // bytes per second at which files are copied; 0 = as fast as they can be
}

// Automatic reports a policy of making backups without being asked.
func (p *Policy) Automatic() bool { return p.Folder != "" && p.Interval > 0 }

// How often the log is copied between two bases, and what failed is tried again.
const (
	shipEvery  = time.Minute
	retryEvery = time.Minute
)

// Runner makes backups of a store, one at a time: when it is asked, and by a policy.
type Runner struct {
	src     Source
	policy  Policy
	program string
	now     func() time.Time
	// told hears of what a policy has done, or of why it could not.
	told func(what string, err error)

	mu     sync.Mutex
	status Status
}

// Status is what serverStatus shows.
type Status struct {
	Policy   Policy
	Running  bool
	To       string // the folder of the backup on its way
	Since    time.Time
	Progress Progress

	Made     int64     // bases since the start
	Shipped  int64     // segments beside them
	Failed   int64     // tries
	LastEnd  time.Time // of the last base that was made, or found at the start; zero = none
	LastTo   string
	Covered  storage.Timestamp // the newest moment that can be restored from there
	LastErr  string            // why the last try failed, "" if it did not
	FailedAt time.Time
}

// ErrRunning: a backup is on its way already.
var ErrRunning = errors.New("a backup is being made already; wait for its end")

// NewRunner makes a runner. program is the version of the program; told may be nil.
func NewRunner(src Source, policy Policy, program string, now func() time.Time, told func(what string, err error)) *Runner {
	if told == nil {
		told = func(string, error) {}
	}
	return &Runner{src: src, policy: policy, program: program, now: now, told: told, status: Status{Policy: policy}}
}

// Status tells how it goes.
func (r *Runner) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Asked makes a base where a client wants it, in the folder of the policy or directly in that, and returns where.
// Errors: ErrNowhere, a place elsewhere; as Take.
func (r *Runner) Asked(ctx context.Context, to string) (dir string, b *Base, err error) {
	if dir, err = r.place(to); err != nil {
		return "", nil, &PlaceError{err}
	}
	b, err = r.take(ctx, dir)
	return dir, b, err
}

// PlaceError refuses the place that a client wants.
type PlaceError struct{ error }

// take makes a base in a folder. Errors: ErrRunning; as Take.
func (r *Runner) take(ctx context.Context, dir string) (b *Base, err error) {
	if err := r.enter(dir); err != nil {
		return nil, err
	}
	defer func() { r.leave(err) }()
	if dir != r.policy.Folder {
		if err := makeFolder(r.policy.Folder); err != nil { // which dir lies in
			return nil, err
		}
	}
	report := func(p Progress) {
		r.mu.Lock()
		r.status.Progress = p
		r.mu.Unlock()
	}
	b, err = Take(ctx, r.src, dir, Options{Program: r.program, Now: r.now, Report: report, Rate: r.policy.Rate})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Made++
	r.status.LastEnd, r.status.LastTo, r.status.Covered = b.Ended, dir, b.Time
	return b, nil
}

// ship copies the log of the policy's folder.
func (r *Runner) ship(ctx context.Context) (err error) {
	if err := r.enter(r.policy.Folder); err != nil {
		return err
	}
	defer func() { r.leave(err) }()
	s, err := Ship(ctx, r.src, r.policy.Folder)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Shipped++
	r.status.LastTo, r.status.Covered = r.policy.Folder, s.Time
	return nil
}

func (r *Runner) enter(dir string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status.Running {
		return ErrRunning
	}
	r.status.Running, r.status.To, r.status.Since, r.status.Progress = true, dir, r.now(), Progress{}
	return nil
}

func (r *Runner) leave(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Running, r.status.To = false, ""
	r.status.LastErr = ""
	if err != nil {
		r.status.Failed++
		r.status.LastErr, r.status.FailedAt = err.Error(), r.now()
	}
}

// Run does what the policy says until ctx ends. A backup is due when the last one in the
// folder, perhaps of an earlier process, is older than the interval. One without backups by themselves
// looks whether the log is kept for anybody.
func (r *Runner) Run(ctx context.Context) {
	if !r.policy.Automatic() {
		r.watchUse(ctx)
		return
	}
	r.look()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(r.step(ctx))
	}
}

// look finds out when the last backup of this data folder was made.
func (r *Runner) look() {
	f, err := Open(r.policy.Folder)
	if err != nil {
		return // the first try will tell
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
		if b := t.newest(); t.ID == id.Timeline && b != nil && t.reaches(b) {
			r.status.LastEnd, r.status.LastTo, r.status.Covered = b.Ended, r.policy.Folder, t.end()
		}
	}
}

// step does what is due, and returns how long to wait.
func (r *Runner) step(ctx context.Context) time.Duration {
	every := min(shipEvery, r.policy.Interval)
	last := r.Status().LastEnd
	due := last.IsZero() || r.now().Sub(last) >= r.policy.Interval
	var err error
	if !due {
		err = r.ship(ctx)
		// Without the writes in between only a new base helps.
		due = errors.Is(err, storage.ErrLogTruncated) || errors.Is(err, errNoBase)
	}
	if due {
		var b *Base
		if b, err = r.take(ctx, r.policy.Folder); err == nil {
			r.told("a backup was made: "+r.policy.Folder, nil)
			if r.policy.Retention > 0 {
				before := max(0, b.Ended.Add(-r.policy.Retention).Unix())
				_, err = Prune(r.policy.Folder, storage.MakeTimestamp(uint32(before), 0))
			}
		}
	}
	if err == nil {
		return every
	}
	if ctx.Err() == nil && !errors.Is(err, ErrRunning) {
		r.told("a backup failed and will be tried again in a minute: moments since the last one cannot be restored until it succeeds", err)
	}
	return min(retryEvery, every)
}
