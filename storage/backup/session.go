package backup

import (
	"context"
	"errors"

	"github.com/cantledb/cantle/storage"
)

// session opens an archive for a backup of the Runner, or continues with the one that the last backup left open. The
// caller, which has called begin, passes it to endSession.
func (r *Runner) session(ctx context.Context, a Archive, report Report) (*backupRun, error) {
	o := Options{Program: r.program, Now: r.now, Report: report, Rate: r.policy.Rate}
	x := r.kept
	if r.kept = nil; x != nil && x.f.archive.Location() != a.Location() {
		r.kept, x = x, nil
	}
	if x != nil {
		x.ctx, x.o = ctx, o
		return x, nil
	}
	x, err := start(ctx, r.src, a, o)
	if err == nil && a.Location() == r.policy.To.Location() {
		x.idle = &r.idle
	}
	return x, err
}

// endSession keeps the archive open for the next backup if its lock is to be kept and there was no error, and closes it
// otherwise.
func (r *Runner) endSession(x *backupRun, err error) error {
	if err == nil && r.policy.Automatic() && x.idle != nil && x.f.archive.KeepsLock() {
		r.kept = x
		return nil
	}
	return errors.Join(err, x.f.close())
}

// endKept closes the archive that the last backup left open, unless a backup is running.
func (r *Runner) endKept() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.kept; x != nil && !r.status.Running {
		r.kept = nil
		_ = x.f.close() // otherwise the lock runs out
	}
}

// shipInto writes a segment into an archive, and merges small ones if there are many. If the merge fails, they stay.
func (r *Runner) shipInto(ctx context.Context, a Archive) (s *Segment, err error) {
	x, err := r.session(ctx, a, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = r.endSession(x, err) }()
	if s, err = x.shipNext(); err != nil {
		return nil, err
	}
	small := x.t.smallTail()
	if small == nil {
		return s, nil
	}
	if held, err := a.Held(ctx); err != nil || held {
		return s, nil // it is merged later
	}
	_ = x.t.join(ctx, small)
	return s, x.reload()
}

// takeInto makes a base in an archive.
func (r *Runner) takeInto(ctx context.Context, a Archive, report Report) (b *Base, err error) {
	x, err := r.session(ctx, a, report)
	if err != nil {
		return nil, err
	}
	defer func() { err = r.endSession(x, err) }()
	if b, err = x.take(); err != nil {
		return nil, err
	}
	return b, x.reload()
}

// pruneOld deletes what no restorable moment since a timestamp needs from the policy's archive.
func (r *Runner) pruneOld(ctx context.Context, since storage.Timestamp) (err error) {
	if err := r.begin(r.policy.To); err != nil {
		return err
	}
	defer func() { r.end(err) }()
	x, err := r.session(ctx, r.policy.To, nil)
	if err != nil {
		return err
	}
	defer func() { err = r.endSession(x, err) }()
	if _, err := x.f.prune(ctx, since); err != nil {
		return err
	}
	return x.reload()
}
