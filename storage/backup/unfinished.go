package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// unfinishedSuffix ends the name of an empty file beside the folder of a base that is being made or deleted. A base
// without a manifest and without that file has lost its manifest.
const unfinishedSuffix = ".unfinished"

// mark creates the file that marks a base as unfinished, before its folder is created or its manifest is deleted.
func (t *Timeline) mark(b *Base) error {
	file, err := os.OpenFile(t.baseDir(b)+unfinishedSuffix, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), syncFolder(t.dir))
}

// unmark removes the mark of a base whose manifest exists.
func (t *Timeline) unmark(b *Base) error { return os.Remove(t.baseDir(b) + unfinishedSuffix) }

// lostManifest reports whether a base in the folder dir, whose manifest does not exist, is not one that is being made or
// deleted: its manifest was lost.
func lostManifest(dir string) bool {
	if _, err := os.Stat(dir + unfinishedSuffix); err == nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, manifestName)); err == nil {
		return false // it was completed meanwhile
	}
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// removeUnfinished removes unfinished bases with their marks. Bases that have lost their manifest stay, because the
// manifest may be copied back.
func (t *Timeline) removeUnfinished() error {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(t.dir, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), basePrefix) || lostManifest(path) {
			continue
		}
		if _, err := os.Stat(filepath.Join(path, manifestName)); errors.Is(err, fs.ErrNotExist) {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), basePrefix) && strings.HasSuffix(e.Name(), unfinishedSuffix) {
			if err := os.Remove(filepath.Join(t.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
