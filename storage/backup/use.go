package backup

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"
)

// retentionCheckEvery is the interval at which watchRetention checks whether logs must still be kept for a backup.
const retentionCheckEvery = time.Minute

// watchRetention runs on a server without automatic backups. It stops keeping logs for the next manual backup once
// the backups that it would continue are gone, or the server has no folder for backups any more.
func (r *Runner) watchRetention(ctx context.Context) {
	tick := time.NewTicker(retentionCheckEvery)
	defer tick.Stop()
	for {
		if ended, err := r.endUnusedRetention(ctx); err != nil {
			r.report("the log that is kept for a backup cannot be let go", err)
		} else if ended {
			r.report("the log is kept for backups no more: none of this server is in the folder of --backup-to, or that was not given", nil)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// endUnusedRetention stops keeping logs if the server has no folder for backups, or that folder has no backup that
// could be continued with them, and reports whether it did. While a backup is running it does nothing.
func (r *Runner) endUnusedRetention(ctx context.Context) (ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, on := r.src.Keeping()
	if !on || r.status.Running {
		return false, nil
	}
	if r.policy.To != nil {
		id, err := readIdentity(kept)
		if err != nil || hasBackups(ctx, r.policy.To, id.Timeline) {
			return false, err
		}
	}
	return true, r.src.EndKeeping()
}

// hasBackups reports whether an archive, or a backup folder directly in it, has backups of a timeline. If it exists and
// cannot be read, hasBackups returns true, so that logs are kept.
func hasBackups(ctx context.Context, a Archive, timeline string) bool {
	entries, err := a.List(ctx, "")
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		if !e.Folder {
			continue
		}
		if e.Name == timeline {
			if there, err := isFolder(ctx, a); there || err != nil {
				return true
			}
		}
		inner := a.Within(e.Name)
		there, err := isFolder(ctx, inner)
		if err == nil && !there {
			continue
		}
		list, bad := inner.List(ctx, "")
		if err != nil || bad != nil || slices.ContainsFunc(list, func(e Entry) bool { return e.Folder && e.Name == timeline }) {
			return true
		}
	}
	return false
}
