package backup

import (
	"context"
	"os"
	"path/filepath"
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
		if ended, err := r.endUnusedRetention(); err != nil {
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
func (r *Runner) endUnusedRetention() (ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, on := r.src.Keeping()
	if !on || r.status.Running {
		return false, nil
	}
	if r.policy.Folder != "" {
		id, err := readIdentity(kept)
		if err != nil || hasBackups(r.policy.Folder, id.Timeline) {
			return false, err
		}
	}
	return true, r.src.EndKeeping()
}

// hasBackups reports whether the folder dir, or a backup folder directly in it, has backups of a timeline. If dir
// exists and cannot be read, it returns true, so that logs are kept.
func hasBackups(dir, timeline string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return !os.IsNotExist(err)
	}
	for _, e := range entries {
		inside := filepath.Join(dir, e.Name())
		if e.Name() == timeline && isFolder(dir) || isFolder(inside) && isDir(filepath.Join(inside, timeline)) {
			return true
		}
	}
	return false
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
