package backup

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// unfinishedSuffix ends the name of an empty file beside the folder of a base that is being made or deleted. A base
// without a manifest and without that file has lost its manifest.
const unfinishedSuffix = ".unfinished"

// mark creates the file that marks a base as unfinished, before its folder is created or its manifest is deleted.
func (t *Timeline) mark(ctx context.Context, b *Base) error {
	return writeFile(ctx, t.archive, t.baseDir(b)+unfinishedSuffix, nil)
}

// unmark removes the mark of a base whose manifest exists.
func (t *Timeline) unmark(ctx context.Context, b *Base) error {
	return t.archive.Remove(ctx, t.baseDir(b)+unfinishedSuffix)
}

// lostManifest reports whether a base in the folder dir, whose manifest does not exist, is not one that is being made or
// deleted: its manifest was lost. If the archive cannot be read, it returns true, so that nothing is deleted.
func (t *Timeline) lostManifest(ctx context.Context, dir string) bool {
	if there, err := exists(ctx, t.archive, dir+unfinishedSuffix); there || err != nil {
		return err != nil
	}
	if there, err := exists(ctx, t.archive, path.Join(dir, manifestName)); there || err != nil {
		return err != nil // or it was completed meanwhile
	}
	entries, err := t.archive.List(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || len(entries) > 0
}

// removeUnfinished removes unfinished bases with their marks. Bases that have lost their manifest stay, because the
// manifest may be copied back.
func (t *Timeline) removeUnfinished(ctx context.Context) error {
	entries, err := t.archive.List(ctx, t.ID)
	if err != nil {
		return err
	}
	for _, e := range entries {
		dir := t.rel(e.Name)
		if !e.Folder || !strings.HasPrefix(e.Name, basePrefix) {
			continue
		}
		if there, err := exists(ctx, t.archive, path.Join(dir, manifestName)); there || err != nil || t.lostManifest(ctx, dir) {
			continue // complete, or it may be
		}
		if err := t.archive.RemoveAll(ctx, dir); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name, basePrefix) && strings.HasSuffix(strings.TrimSuffix(e.Name, partSuffix), unfinishedSuffix) {
			if err := t.archive.Remove(ctx, t.rel(e.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}
