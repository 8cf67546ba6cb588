package backup

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// usedEvery is how often backups made by hand are looked for.
const usedEvery = time.Minute

// watchUse lets go of the log that is kept for the next backup by hand, once there is no backup
// left that it would follow, or none can be made any more.
func (r *Runner) watchUse(ctx context.Context) {
	tick := time.NewTicker(usedEvery)
	defer tick.Stop()
	for {
		if ended, err := r.endUnused(); err != nil {
			r.told("the log that is kept for a backup cannot be let go", err)
		} else if ended {
			r.told("the log is kept for backups no more: none of this server is in the folder of --backup-to, or that was not given", nil)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// endUnused ends keeping what no backup has any use for, and reports that.
func (r *Runner) endUnused() (ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, on := r.src.Keeping()
	if !on || r.status.Running {
		return false, nil
	}
	if r.policy.Folder != "" {
		id, err := readIdentity(kept)
		if err != nil || used(r.policy.Folder, id.Timeline) {
			return false, err
		}
	}
	return true, r.src.EndKeeping()
}

// used reports that backups of a timeline lie in a folder, or in a folder of backups directly in it.
// A disk that does not answer is taken for one that has them.
func used(dir, timeline string) bool {
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
