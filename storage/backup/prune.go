package backup

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cantledb/cantle/storage"
)

// clean removes the remains of interrupted backups and restores from the folder. The caller holds the folder's
// lock.
func (f *Folder) clean(ctx context.Context) error {
	if err := f.archive.Clean(ctx); err != nil {
		return err
	}
	for _, t := range f.Timelines {
		if err := t.clean(ctx); err != nil {
			return err
		}
	}
	return nil
}

// clean removes unfinished bases, tables that no base uses, incomplete files, and segments that a merged one
// replaces. If a manifest of a base is lost or unreadable, no tables are removed, because it may be repaired.
func (t *Timeline) clean(ctx context.Context) error {
	wanted := map[string]bool{}
	for _, b := range t.Bases {
		for _, f := range b.Files {
			wanted[f.Name] = true
		}
	}
	unread := false
	for _, x := range t.findings {
		unread = unread || path.Base(x.Where) == manifestName
	}
	if err := t.removeUnfinished(ctx); err != nil {
		return err
	}
	err := t.removeFrom(ctx, tablesName, func(name string) bool { return !unread && !wanted[name] })
	if err != nil {
		return err
	}
	return t.removeFrom(ctx, logName, func(name string) bool {
		return strings.HasSuffix(name, partSuffix) || slices.Contains(t.superseded, name)
	})
}

// removeFrom removes the files of a folder of the timeline whose names are chosen, if the folder exists.
func (t *Timeline) removeFrom(ctx context.Context, dir string, chosen func(name string) bool) error {
	entries, err := t.archive.List(ctx, t.rel(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if chosen(e.Name) {
			if err := t.archive.Remove(ctx, t.rel(dir, e.Name)); err != nil {
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

// Prune deletes the bases, segments and timelines in a backup folder that no restore to a moment since a timestamp
// needs. It keeps the newest backup in any case, and deletes nothing while a restore is running. Errors: as
// openForWriting.
func Prune(ctx context.Context, a Archive, since storage.Timestamp) (p Pruned, err error) {
	f, err := openForWriting(ctx, a)
	if err != nil {
		return p, err
	}
	defer func() { _ = f.close() }()
	return f.prune(ctx, since)
}

// prune is Prune in an open backup folder.
func (f *Folder) prune(ctx context.Context, since storage.Timestamp) (p Pruned, err error) {
	a := f.archive
	if held, err := a.Held(ctx); err != nil || held {
		return p, err
	}
	for i, t := range f.Timelines {
		if i < len(f.Timelines)-1 && t.end() < since {
			if err := a.RemoveAll(ctx, t.ID); err != nil {
				return p, err
			}
			p.Timelines++
			continue
		}
		if err := t.prune(ctx, since, &p); err != nil {
			return p, err
		}
	}
	return p, nil
}

// prune deletes the timeline's bases before the last restorable one at or before since, and the segments that only
// those bases need. It marks each base as unfinished and deletes its manifest first: so an interrupted prune leaves
// bases that clean removes.
func (t *Timeline) prune(ctx context.Context, since storage.Timestamp, p *Pruned) error {
	keep := 0
	for i, b := range t.Bases {
		if b.Time <= since && t.restorable(b) {
			keep = i
		}
	}
	for _, b := range t.Bases[:keep] {
		if err := t.mark(ctx, b); err != nil {
			return err
		}
		if err := t.archive.Remove(ctx, path.Join(t.baseDir(b), manifestName)); err != nil {
			return err
		}
		p.Bases++
	}
	if t.Bases = t.Bases[keep:]; len(t.Bases) == 0 {
		return nil
	}
	for _, s := range t.Segments {
		if s.Next <= t.Bases[0].From {
			if err := t.archive.Remove(ctx, t.segmentPath(s)); err != nil {
				return err
			}
			p.Segments++
		}
	}
	return t.clean(ctx)
}
