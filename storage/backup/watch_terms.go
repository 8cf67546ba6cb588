package backup

import (
	"context"
	"time"
)

// watchTerms examines the terms of the policy's archive at the interval of segments, while no segments are written that
// examine them: during a base, without automatic backups, and after failures. It returns the term by which another server was
// promoted in place of this one, nil when ctx ends.
func (r *Runner) watchTerms(ctx context.Context) *Term {
	if r.policy.To == nil || r.policy.LogInterval <= 0 {
		return nil
	}
	tick := time.NewTicker(r.policy.LogInterval)
	defer tick.Stop()
	for seen := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if s := r.Status(); r.policy.Automatic() && !s.Running && s.LastErr == "" {
			continue
		}
		if t, err := r.newTerms(ctx, &seen); err == nil && t != nil { // the next backup reports an error
			return t
		}
	}
}

// newTerms returns the term of the policy's archive that deposes this server, nil if there is none. seen is the number of terms that
// were examined before: no term changes.
func (r *Runner) newTerms(ctx context.Context, seen *int) (*Term, error) {
	kept, _ := r.src.Keeping()
	id, err := storedIdentity(kept)
	if err != nil || id == nil {
		return nil, err
	}
	entries, err := r.policy.To.List(ctx, "")
	if err != nil {
		return nil, err
	}
	names := termNames(entries)
	if len(names) == *seen {
		return nil, nil
	}
	all, err := readTerms(ctx, r.policy.To, names)
	if err == nil {
		*seen = len(names)
	}
	return deposing(all, id.Timeline), err
}

// depose calls Deposed, once.
func (r *Runner) depose(ctx context.Context, t Term) {
	r.deposed.Do(func() {
		if r.Deposed != nil {
			r.Deposed(ctx, t)
		}
	})
}
