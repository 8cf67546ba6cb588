package daemon

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// Names in the folder of --data.
const (
	storeName   = "store"
	scratchName = "scratch" // a folder made after the store: if it exists without a store, a store was lost
	// UnfinishedName is the folder of a store that is being restored.
	UnfinishedName = "store-unfinished"
)

// LostError means that the folder of --data has no database although it should have one: it had one before, or a
// restore into it has not finished.
type LostError struct {
	Data string
	What string // state of the folder, for the text of the error
	Do   string // advice to the operator
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the folder %s %s: %s", e.Data, e.What, e.Do)
}

// Look reports whether the folder of --data has a database.
// Errors: LostError, which --new overrides; errors of the file system.
func Look(data string) (there bool, err error) {
	state, err := look(filescan.Disk, data)
	return state == filescan.Present, err
}

// look is Look on any file system.
func look(files pebblekv.FS, data string) (state filescan.State, err error) {
	if state, err = filescan.StateOf(files, files.PathJoin(data, storeName)); err != nil || state == filescan.Present {
		return state, err
	}
	again := "mount its disk, or restore a backup into an empty folder (cantle restore --from); to create a new, empty database here, start once with --new"
	if exists(files, data, UnfinishedName) {
		return state, &LostError{data, "has an unfinished or running restore (" + UnfinishedName + ")",
			"run cantle restore again, which starts over; to create a new, empty database beside it, start once with --new"}
	}
	if state == filescan.Lost {
		return state, &LostError{data, "has had a database and has lost it: " + storeName + " has some of its files and no data", again}
	}
	if state == filescan.Absent && exists(files, data, scratchName) {
		return state, &LostError{data, "has had a database and has lost it: " + scratchName + " is there and " + storeName + " is empty or gone", again}
	}
	return state, nil
}

// exists reports whether a folder has a file of that name.
func exists(files pebblekv.FS, dir, name string) bool {
	_, err := files.Stat(files.PathJoin(dir, name))
	return err == nil
}

// checkDataFolder examines the folder of --data before the server writes anything into it, and reports whether a new
// database is to begin there. If it cannot read the folder, it returns false: opening the store then reports the
// error.
// Errors: the folder has no database, and none may begin.
func (d *Daemon) checkDataFolder(s storeSettings) (anew bool, err error) {
	files := filescan.Disk
	if s.files != nil {
		var o pebblekv.Options
		if s.files(&o); o.FS != nil {
			files = o.FS
		}
	}
	state, err := look(files, d.cfg.Data)
	var lost *LostError
	switch {
	case state == filescan.Present:
		if err == nil && exists(files, d.cfg.Data, UnfinishedName) {
			d.log.Warn().Str("folder", filepath.Join(d.cfg.dataLocation(), UnfinishedName)).Msg("an unfinished restore lies beside the database; it is of no use and can be deleted")
		}
		return false, err
	case errors.As(err, &lost) && d.cfg.New && !d.cfg.ServeDamaged && !d.cfg.MustExist:
		if state == filescan.Lost {
			err = filescan.BeginCreate(files, files.PathJoin(d.cfg.Data, storeName))
		} else {
			err = nil
		}
		return true, err
	case lost != nil:
		return false, err
	case err != nil:
		return false, nil // making the folder or opening the store reports the error
	case d.cfg.ServeDamaged:
		return false, fmt.Errorf("there is no database in the folder %s that --serve-damaged could serve", d.cfg.Data)
	case d.cfg.MustExist:
		return false, fmt.Errorf("there is no database in the folder %s, and --must-exist begins none: is its disk mounted? Start without that flag to begin a new, empty one", d.cfg.Data)
	}
	return true, nil
}
