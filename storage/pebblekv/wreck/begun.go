package wreck

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// makingName is the file that a store has while it is being made for the first time. Where it
// is there, a store without data is one whose making was cut off; where it is not, one whose
// data were lost.
const makingName = "MAKING"

// State is what a folder has of a store.
type State uint8

// States of a folder.
const (
	Absent State = iota // there is no folder, or nothing of a store in it
	Begun               // the making of a store was cut off before anything was written to it
	Lost                // files beside the data, such as LOCK, are there, and no data
	There               // a store, be it damaged
)

// Look says what a folder has of a store. It reads little.
// Errors: those of the file system.
func Look(fs vfs.FS, dir string) (State, error) {
	names, err := fs.List(dir)
	if vfsMissing(err) {
		return Absent, nil
	}
	if err != nil {
		return Absent, err
	}
	f := &Folder{fs: fs, dir: dir, names: names, mark: readMark(fs, fs.PathJoin(dir, markName))}
	switch {
	case f.unfinished(): // judged below
	case f.mark == 0 || slices.ContainsFunc(names, ofData):
		return There, nil
	default:
		return Lost, nil
	}
	if slices.Contains(names, makingName) {
		return Begun, nil
	}
	if slices.ContainsFunc(names, func(name string) bool { return ofData(name) || beside(name) }) {
		return Lost, nil
	}
	return Absent, nil
}

// ofData reports a file that a store cannot do without.
func ofData(name string) bool {
	return strings.HasSuffix(name, tableSuffix) || strings.HasSuffix(name, logSuffix) || strings.HasPrefix(name, manifestName) || strings.HasPrefix(name, "marker.")
}

// beside reports a file of a store that holds no data.
func beside(name string) bool {
	return name == "LOCK" || name == markName || strings.HasPrefix(name, optionsPrefix)
}

// Make notes that a store is about to be made in a folder, durably, so that what its making leaves
// when it is cut off is not taken for a store that was lost. Errors: those of the file system.
func Make(fs vfs.FS, dir string) error {
	file, err := fs.Create(fs.PathJoin(dir, makingName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := fs.Remove(fs.PathJoin(dir, markName)); err != nil && !vfsMissing(err) { // of one that was lost
		return err
	}
	return syncFolder(fs, dir)
}

// Made notes that the store is there. Errors: those of the file system.
func Made(fs vfs.FS, dir string) error {
	err := fs.Remove(fs.PathJoin(dir, makingName))
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

// unfinished reports that nothing was ever written to the store: there is no table, nothing
// in a log, and no mark. What else there is, its making has left, or was left of it.
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
