package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// intervals are the times between two listings of segments by a Follower.
type intervals struct {
	first   time.Duration // as often as a server may write segments
	quick   int           // number of listings without a further segment, after which the interval doubles with each one
	longest time.Duration // of an archive with requests that cost; 0 = first
}

var usualIntervals = intervals{first: time.Second, quick: 10, longest: 8 * time.Second}

// after returns the interval after a number of listings without a further segment.
func (i *intervals) after(empty int) time.Duration {
	return max(i.first, min(i.longest, i.first<<min(max(0, empty-i.quick), 16)))
}

// lookEvery is the least time after which a Follower also looks for newer timelines in the archive.
const lookEvery = time.Minute

// Errors of a Follower.
var (
	// ErrBehind: the archive has no segment any more with the next write, so a store can only follow it from a newer
	// base.
	ErrBehind = errors.New("the next part of the log is not in the folder of backups any more")
	// ErrTimeline: another timeline of the archive has newer moments: the server was restored, or replaced.
	ErrTimeline = errors.New("another server, or the same one after a restore, writes the newest backups")
)

// Begin makes the files of a store that follows the server of an archive, with its newest state there, in the folder
// dir. Damaged files of the archive are avoided, if other files have the same state. Before files are copied, room is called
// with their size; it may be nil. Errors: ErrNoBackup, ErrFormat, ErrNotCovered; errors of the archive and of the file system.
func Begin(ctx context.Context, a Archive, dir string, room func(bytes int64)) (p pebblekv.FollowPosition, err error) {
	_, f, release, err := Hold(ctx, a)
	if err != nil {
		return p, err
	}
	defer release()
	plan, err := f.RestoreMoment(ctx, 0, dir, false, func(p *Plan) (Report, func(error)) {
		if room != nil {
			room(p.Base.Bytes())
		}
		return nil, func(error) {}
	})
	if err != nil {
		return p, err
	}
	p = pebblekv.FollowPosition{Timeline: plan.timeline.ID, Next: plan.segments[len(plan.segments)-1].Next, Time: plan.At}
	return p, pebblekv.BeginFollow(dir, p)
}

// FollowStatus is the state of a Follower.
type FollowStatus struct {
	From     string            // location of the archive
	Applied  storage.Timestamp // timestamp of the newest applied write
	Writes   int64             // applied writes
	Segments int64             // segments that were read
	// CaughtUp is the last time at which the archive was listed and had no further segment.
	CaughtUp time.Time
	LastErr  string // of the last attempt, "" if it succeeded
	FailedAt time.Time
	Failed   int64 // failed attempts
}

// Lag returns by how much the applied writes are behind the clock, at least 0: all that is missing was written in that
// time. While the followed server writes nothing, it is up to the interval of its segments without writes, a minute.
func (s *FollowStatus) Lag(now time.Time) time.Duration {
	return max(0, now.Sub(time.Unix(int64(s.Applied.Seconds()), 0)))
}

// Follower applies the segments of an archive to a store, as they come.
type Follower struct {
	archive Archive
	store   pebblekv.Follower
	// changed is called after each Commit that has changed data which the server keeps in memory, before later writes
	// are applied.
	changed func(ctx context.Context, what pebblekv.Applied) error
	now     func() time.Time
	log     func(what string, err error)
	// Keep stores the term of a promotion durably before it begins; with nil it removes the record. It must be set before Promote
	// and Resume.
	Keep func(*Term) error

	// unseen has the changes of Commits since changed succeeded last.
	unseen pebblekv.Applied
	// pending is the term of a promotion that was recorded, and perhaps begun; no more writes are applied then.
	pending *Term
	pace    intervals
	empty   int           // listings without a further segment
	hurried chan struct{} // full after Hurry
	looked  time.Time     // the last look for newer timelines
	// work is full while segments are applied or the follower is promoted.
	work chan struct{}

	mu       sync.Mutex
	status   FollowStatus
	promoted *Term
}

// NewFollower makes a Follower. It logs with log, errors with err.
func NewFollower(a Archive, store pebblekv.Follower, now func() time.Time, changed func(context.Context, pebblekv.Applied) error, log func(what string, err error)) *Follower {
	f := &Follower{archive: a, store: store, changed: changed, now: now, log: log, work: make(chan struct{}, 1), hurried: make(chan struct{}, 1), pace: usualIntervals,
		status: FollowStatus{From: a.Location(), Applied: store.Position().Time}}
	if !a.KeepsLock() { // a folder, whose listings cost nothing
		f.pace.longest = 0
	}
	return f
}

// Status returns the present state.
func (f *Follower) Status() FollowStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Hurry makes the next listings come at the shortest interval: a client waits for a write.
func (f *Follower) Hurry() {
	select {
	case f.hurried <- struct{}{}:
	default:
	}
}

// Run applies segments until ctx ends or the follower was promoted (Promoted); then it returns nil. After an error of the
// archive it tries again. Errors: ErrBehind and ErrTimeline, after which the store has to be made again (Begin);
// storage.ErrFormat, ErrCorruption and ErrUndetermined, after which the store must be closed.
func (f *Follower) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	gaps := 0
	for first := true; ; first = false {
		if !f.await(ctx, timer) {
			return nil
		}
		f.work <- struct{}{} // a promotion ends with its own context
		err := f.next(ctx, first)
		<-f.work
		if ctx.Err() != nil || f.Promoted() != nil {
			return nil
		}
		gaps++
		if !errors.Is(err, ErrBehind) {
			gaps = 0
		}
		f.record(err)
		switch {
		case gaps > 1: // a merge of segments in between was excluded by the second listing
			return err
		case errors.Is(err, ErrTimeline), errors.Is(err, storage.ErrFormat), errors.Is(err, ErrFormat), errors.Is(err, storage.ErrUndetermined), errors.Is(err, storage.ErrClosed):
			return err
		}
		timer.Reset(f.pace.after(f.empty))
	}
}

// await waits for the timer, or for Hurry if the interval has become longer. It returns false when ctx ends.
func (f *Follower) await(ctx context.Context, timer *time.Timer) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-f.hurried:
			if f.pace.after(f.empty) > f.pace.first {
				f.empty = 0
				return true
			}
			f.empty = 0
		}
	}
}

// next does one attempt: it applies what the archive has, or finds out whether a promotion has begun. Errors: ErrTimeline if the
// store has to be made again.
func (f *Follower) next(ctx context.Context, first bool) error {
	switch {
	case f.Promoted() != nil:
		return nil
	case f.pending != nil:
		switch err := f.settle(ctx); {
		case errors.Is(err, ErrTimeline): // the loop looks for the timeline of the other server
			f.log("another server was promoted before this one, which follows it when its first backup is complete", nil)
			return nil
		case errors.Is(err, ErrNotBegun):
			f.log(err.Error(), nil)
		default:
			return err
		}
	}
	if since := f.now().Sub(f.looked); first || since >= lookEvery || since < 0 { // the clock may be set back
		f.looked = f.now()
		switch err := f.lookForTimelines(ctx); {
		case !errors.Is(err, ErrTimeline):
			if err != nil {
				return err
			}
		case first, errors.As(err, new(*DeposedError)): // the timeline has ended
			return err
		default:
			f.log("the folder of backups has a newer timeline than the one that this server follows; start it again to follow that", nil)
		}
	}
	return f.step(ctx)
}

// record adds the result of an attempt to the status, and logs the first of several failures, and their end.
func (f *Follower) record(err error) {
	f.mu.Lock()
	was := f.status.LastErr != ""
	if err != nil {
		f.status.LastErr, f.status.FailedAt = err.Error(), f.now()
		f.status.Failed++
	} else {
		f.status.LastErr, f.status.CaughtUp = "", f.now()
	}
	f.mu.Unlock()
	switch {
	case err != nil && !was:
		f.log("the followed server's writes cannot be read; reads return older and older states until a retry succeeds", err)
	case err == nil && was:
		f.log("the followed server's writes can be read again", nil)
	}
}

// lookForTimelines returns ErrTimeline if another timeline of the archive has newer moments than the followed one. The lists of
// a timeline are read only if there are others.
func (f *Follower) lookForTimelines(ctx context.Context) error {
	folder, ids, err := list(ctx, f.archive)
	if err != nil {
		return err
	}
	followed := f.store.Position()
	own, other := followed.Time, storage.Timestamp(0)
	for _, id := range ids {
		if len(ids) == 1 && id == followed.Timeline {
			return nil
		}
		t, err := openTimeline(ctx, f.archive, id)
		switch {
		case err != nil:
			return err
		case id == followed.Timeline:
			own = max(own, t.end())
		default:
			other = max(other, t.end())
		}
	}
	if other <= own {
		return nil
	}
	switch t, err := folder.deposing(ctx, followed.Timeline); {
	case err != nil:
		return err
	case t != nil:
		return fmt.Errorf("the folder %s: %w: %w", f.archive.Location(), ErrTimeline, &DeposedError{*t})
	}
	return fmt.Errorf("the folder %s: %w", f.archive.Location(), ErrTimeline)
}

// step applies all segments that the archive has. Errors: ErrBehind; errors of apply.
func (f *Follower) step(ctx context.Context) error {
	if err := f.show(ctx); err != nil {
		return err
	}
	t := &Timeline{ID: f.store.Position().Timeline, archive: f.archive}
	entries, err := f.archive.List(ctx, t.rel(logName))
	if errors.Is(err, fs.ErrNotExist) { // without a log yet, unless the timeline is gone
		_, err = f.archive.List(ctx, t.rel())
	}
	if err == nil && len(entries) == 0 { // so an object store answers for a place that is gone
		_, _, err = list(ctx, f.archive)
	}
	if err != nil {
		return err
	}
	for f.empty++; ; f.empty = 0 {
		next := f.store.Position().Next
		e, later := segmentWith(entries, next)
		switch {
		case e == nil && later:
			return fmt.Errorf("the folder %s: %w", f.archive.Location(), ErrBehind)
		case e == nil:
			return nil
		}
		s, err := t.readEnd(ctx, *e)
		if err == nil {
			err = f.apply(ctx, t, s)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was merged since it was listed
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", f.archive.Within(t.rel(logName, e.Name)).Location(), err)
		}
	}
}

// segmentWith returns the file, of several the longest, that has the write with a sequence number, nil if there is
// none. later reports whether there are files of later writes.
func segmentWith(entries []Entry, number uint64) (found *Entry, later bool) {
	longest := uint64(0)
	for i, e := range entries {
		var first, next uint64
		name, ok := strings.CutSuffix(e.Name, segmentSuffix)
		if n, err := fmt.Sscanf(name, "%16x-%16x", &first, &next); !ok || err != nil || n != 2 {
			continue
		}
		switch {
		case first > number:
			later = true
		case next > number && next > longest:
			found, longest = &entries[i], next
		}
	}
	return found, later
}

// apply applies the writes of a segment that were not applied yet. Errors: errDamaged; errors of the archive, of the
// store and of changed.
func (f *Follower) apply(ctx context.Context, t *Timeline, s *Segment) error {
	a := f.store.Applier()
	defer a.Close()
	writes := int64(0)
	commit := func() error {
		what, err := a.Commit(ctx)
		if err != nil {
			return err
		}
		f.mu.Lock()
		f.status.Writes += writes
		f.status.Applied = f.store.Position().Time
		f.mu.Unlock()
		writes = 0
		f.unseen.Catalog, f.unseen.Topics = f.unseen.Catalog || what.Catalog, f.unseen.Topics || what.Topics
		return f.show(ctx)
	}
	from := f.store.Position().Next
	err := t.each(ctx, s, func(int64) error { return nil }, func(w pebblekv.Write) error {
		if err := a.Add(w); err != nil {
			return err
		}
		if w.Next() > from {
			writes++
		}
		if a.Full() {
			return commit()
		}
		return nil
	})
	if err == nil && writes > 0 {
		err = commit()
	}
	if err == nil {
		f.mu.Lock()
		f.status.Segments++
		f.mu.Unlock()
	}
	return err
}

// show calls changed, unless nothing has changed since the last call that succeeded.
func (f *Follower) show(ctx context.Context) error {
	if !f.unseen.Any() {
		return nil
	}
	err := f.changed(ctx, f.unseen)
	if err == nil {
		f.unseen = pebblekv.Applied{}
	}
	return err
}
