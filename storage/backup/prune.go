package backup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
)

// clean removes the remains of interrupted backups and restores from the folder. The caller holds the folder's
// lock.
func (f *Folder) clean() error {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(f.Dir, e.Name())
		if strings.HasPrefix(e.Name(), scratchPrefix) {
			if locked(path) {
				continue
			}
		} else if !strings.HasSuffix(e.Name(), partSuffix) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	for _, t := range f.Timelines {
		if err := t.clean(); err != nil {
			return err
		}
	}
	return nil
}

// locked reports whether the lock of a folder is held, by this process or another.
func locked(path string) bool {
	lock, err := pebblekv.LockFolder(path)
	if err == nil {
		_ = lock.Close()
	}
	return errors.Is(err, storage.ErrLocked)
}

// restoreInProgress reports whether another process holds the folder for a restore, by a locked folder of Hold.
func (f *Folder) restoreInProgress() (bool, error) {
	entries, err := os.ReadDir(f.Dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), scratchPrefix) && locked(filepath.Join(f.Dir, e.Name())) {
			return true, nil
		}
	}
	return false, err
}

// clean removes unfinished bases, tables that no base uses, incomplete files, and segments that a merged one
// replaces. If a manifest of a base is lost or unreadable, no tables are removed, because it may be repaired.
func (t *Timeline) clean() error {
	wanted := map[string]bool{}
	for _, b := range t.Bases {
		for _, f := range b.Files {
			wanted[f.Name] = true
		}
	}
	unread := false
	for _, x := range t.findings {
		unread = unread || filepath.Base(x.Where) == manifestName
	}
	if err := t.removeUnfinished(); err != nil {
		return err
	}
	err := removeFrom(filepath.Join(t.dir, tablesName), func(name string) bool { return !unread && !wanted[name] })
	if err != nil {
		return err
	}
	return removeFrom(filepath.Join(t.dir, logName), func(name string) bool {
		return strings.HasSuffix(name, partSuffix) || slices.Contains(t.superseded, name)
	})
}

// removeFrom removes the files of a folder whose names are chosen, if the folder exists.
func removeFrom(dir string, chosen func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if chosen(e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Pruned counts the bases, segments and timelines that Prune has deleted.
type Pruned struct {
	Bases, Segments, Timelines int
}

// Prune deletes the bases, segments and timelines in the backup folder dir that no restore to a moment since a
// timestamp needs. It keeps the newest backup in any case, and deletes nothing while a restore is running. Errors:
// as openForWriting.
func Prune(dir string, since storage.Timestamp) (p Pruned, err error) {
	f, err := openForWriting(dir)
	if err != nil {
		return p, err
	}
	defer func() { _ = f.close() }()
	if held, err := f.restoreInProgress(); err != nil || held {
		return p, err
	}
	for i, t := range f.Timelines {
		if i < len(f.Timelines)-1 && t.end() < since {
			if err := os.RemoveAll(t.dir); err != nil {
				return p, err
			}
			p.Timelines++
			continue
		}
		if err := t.prune(since, &p); err != nil {
			return p, err
		}
	}
	return p, nil
}

// prune deletes the timeline's bases before the last restorable one at or before since, and the segments that only
// those bases need. It marks each base as unfinished and deletes its manifest first: so an interrupted prune leaves
// bases that clean removes.
func (t *Timeline) prune(since storage.Timestamp, p *Pruned) error {
	keep := 0
	for i, b := range t.Bases {
		if b.Time <= since && t.restorable(b) {
			keep = i
		}
	}
	for _, b := range t.Bases[:keep] {
		if err := t.mark(b); err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(t.baseDir(b), manifestName)); err != nil {
			return err
		}
		p.Bases++
	}
	if t.Bases = t.Bases[keep:]; len(t.Bases) == 0 {
		return nil
	}
	for _, s := range t.Segments {
		if s.Next <= t.Bases[0].From {
			if err := os.Remove(filepath.Join(t.dir, logName, s.Name)); err != nil {
				return err
			}
			p.Segments++
		}
	}
	return t.clean()
}
