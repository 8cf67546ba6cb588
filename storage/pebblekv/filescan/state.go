package filescan

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// creatingName is the name of a file that exists while a store is being created. A store without data is one whose
// creation was interrupted if the file exists; otherwise its data were lost.
const creatingName = "MAKING"

// State is the state of the store in a folder, which decides whether a server may create a new store there.
type State uint8

// States of a folder.
const (
	Absent     State = iota // there is no folder, or no file of a store in it
	Unfinished              // the creation of a store was interrupted before anything was written to it
	Lost                    // files of a store, such as LOCK, are there, but its data are missing
	Present                 // a store, perhaps damaged
)

// StateOf returns the state of the store in the folder dir, by the names of its files, its logs and its mark.
// Errors: errors of the file system.
func StateOf(fs vfs.FS, dir string) (State, error) {
	names, err := fs.List(dir)
	if vfsMissing(err) {
		return Absent, nil
	}
	if err != nil {
		return Absent, err
	}
	f := &Folder{fs: fs, dir: dir, names: names, mark: readMark(fs, fs.PathJoin(dir, markName))}
	switch {
	case f.unfinished(): // Absent, Unfinished or Lost, see below
	case f.mark == 0 || slices.ContainsFunc(names, isData):
		return Present, nil
	default:
		return Lost, nil
	}
	if slices.Contains(names, creatingName) {
		return Unfinished, nil
	}
	if slices.ContainsFunc(names, func(name string) bool { return isData(name) || isAuxiliary(name) }) {
		return Lost, nil
	}
	return Absent, nil
}

// isData reports whether a file name is that of a table, a log, a manifest or a marker, without which a store
// cannot be opened.
func isData(name string) bool {
	return strings.HasSuffix(name, tableSuffix) || strings.HasSuffix(name, logSuffix) || strings.HasPrefix(name, manifestName) || strings.HasPrefix(name, "marker.")
}

// isAuxiliary reports whether a file name is that of a store's file without data, which exists also after the data
// were lost.
func isAuxiliary(name string) bool {
	return name == "LOCK" || name == markName || strings.HasPrefix(name, optionsPrefix)
}

// BeginCreate creates and syncs a file in a folder while a store is being created there, so that an interrupted
// creation is not taken for a lost store, and removes the mark of a lost one. Errors: errors of the file system.
func BeginCreate(fs vfs.FS, dir string) error {
	file, err := fs.Create(fs.PathJoin(dir, creatingName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := fs.Remove(fs.PathJoin(dir, markName)); err != nil && !vfsMissing(err) { // the mark of a lost store
		return err
	}
	return syncFolder(fs, dir)
}

// EndCreate removes the file of BeginCreate once the store has been created. Errors: errors of the file system.
func EndCreate(fs vfs.FS, dir string) error {
	err := fs.Remove(fs.PathJoin(dir, creatingName))
	if vfsMissing(err) {
		return nil
	}
	return err
}

func syncFolder(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// unfinished reports whether no write to the store has left a trace: there is no table, nothing in a log, and no
// mark. Other files may be there, left by an interrupted creation or by a lost store.
func (f *Folder) unfinished() bool {
	if f.mark != 0 {
		return false
	}
	for _, name := range f.names {
		switch {
		case strings.HasSuffix(name, tableSuffix):
			return false
		case strings.HasSuffix(name, logSuffix):
			if data, err := f.readFile(name); err != nil || len(bytes.Trim(data, "\x00")) > 0 {
				return false
			}
		}
	}
	return true
}
