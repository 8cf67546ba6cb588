// Package secretfile writes files with keys and passwords, which only their owner may read.
package secretfile

import (
	"errors"
	"io/fs"
	"os"
)

// Replace replaces the file at a path by a new one that only the user of the process can read, whatever the mode of the
// earlier file was. The path has the complete new text or the old file at any moment. A symbolic link is replaced, not
// followed.
// Errors: errors of the file system.
func Replace(path string, text []byte) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		os.Remove(next)
	}
	return err
}
