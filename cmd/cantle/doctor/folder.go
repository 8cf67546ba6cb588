package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cantledb/cantle/collection/verify"
	"github.com/cantledb/cantle/serve/daemon"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// folderOf checks, by trying, whether a server could write to the data folder, or create it. folder is the folder in
// which further checks can create files, "" if there is none.
func folderOf(data string) (folder string, out []Finding) {
	path, err := filepath.Abs(data)
	if err != nil {
		path = data
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		above := path
		for errors.Is(err, fs.ErrNotExist) && above != filepath.Dir(above) {
			above = filepath.Dir(above)
			_, err = os.Stat(above)
		}
		if err := tryFile(above); err != nil {
			return "", []Finding{newFinding("folder", Fault, "%s does not exist and cannot be created: %v", path, err).
				do("let the user of the server write to %s, or choose another folder with --data", above)}
		}
		return above, []Finding{newFinding("folder", Good, "%s does not exist and will be created", path)}
	}
	if err == nil && !info.IsDir() {
		return "", []Finding{newFinding("folder", Fault, "%s is a file", path).do("choose a folder with --data")}
	}
	if err == nil {
		err = tryFile(path)
	}
	if err != nil {
		return "", []Finding{newFinding("folder", Fault, "%s is not writable: %v", path, err).
			do("let the user of the server own it (chown -R), mount it for writing, or choose another folder with --data")}
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && permissions {
		return path, []Finding{newFinding("folder", Warning, "%s is accessible to other users of this machine (mode %04o)", path, mode).
			do("chmod 700 %s", path)}
	}
	return path, []Finding{newFinding("folder", Good, "%s is writable", path)}
}

// tryFile creates a file in a folder, writes to it and removes it. A full disk is no error here.
func tryFile(folder string) error {
	f, err := os.CreateTemp(folder, ".cantle-doctor-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	if storage.IsDiskFull(err) {
		return nil // reported by another check
	}
	return err
}

// format checks the format and the files of the store in the data folder. running reports whether a server has the
// store open.
func format(data string) (out []Finding, running bool) {
	if _, err := os.Stat(filepath.Join(data, "WiredTiger")); err == nil {
		return []Finding{newFinding("format", Fault, "%s holds the files of a mongod, which cantle does not read", data).
			do("dump them from a running mongod (cantle dump URI), load them (cantle restore URI), and choose another folder with --data")}, false
	}
	var lost *daemon.LostError
	if _, err := daemon.Look(data); errors.As(err, &lost) {
		return []Finding{newFinding("format", Fault, "%s %s", data, lost.What).do("%s", lost.Do)}, false
	}
	version, exists, err := pebblekv.Inspect(filepath.Join(data, "store"))
	switch {
	case errors.Is(err, storage.ErrLocked):
		return []Finding{newFinding("format", Good, "the database is open in a running server")}, true
	case errors.Is(err, storage.ErrFormat):
		return []Finding{newFinding("format", Fault, "%v", err).do("start a newer cantle than this one, %s, or choose another folder with --data", daemon.Version)}, false
	case errors.Is(err, storage.ErrCorruption), err == nil && damage(data) != "":
		return []Finding{newFinding("format", Fault, "%s", cmp.Or(damage(data), fmt.Sprint(err))).do("list the damage with cantle check and extract the readable data with cantle salvage, or restore a backup into an empty folder")}, false
	case err != nil:
		return []Finding{newFinding("format", Fault, "the database cannot be opened: %v", err).do("run this as the user of the server")}, false
	case !exists:
		return []Finding{newFinding("format", Good, "there is no database yet")}, false
	case version == 0:
		return []Finding{newFinding("format", Note, "the creation of the database was interrupted; the server will complete it")}, false
	}
	return []Finding{newFinding("format", Good, "version %d, which this program reads and writes", version)}, false
}

// damage returns a sentence about the first damage that a server would find when it opens the store, "" if it would
// find none or the files cannot be read. No server may have the store open.
func damage(data string) string {
	f, err := filescan.ReadFolder(filescan.Disk, filepath.Join(data, "store"))
	if err == nil {
		err = f.ListTables()
	}
	if err != nil || len(f.Damages) == 0 {
		return ""
	}
	return verify.Sentence(f.Damages[0], nil)
}
