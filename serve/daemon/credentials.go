package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// credential returns the path from which a file that a setting names is read: systemd's copy of it, if the unit has a
// LoadCredential= whose name is that of the file, otherwise the path itself. systemd reads the file as root when the
// service starts, and only the service can read the copy: so the user of the service needs no rights on a private key.
// Source: systemd.exec(5), Credentials.
func credential(path string) string {
	folder := os.Getenv("CREDENTIALS_DIRECTORY")
	if folder == "" || path == "" {
		return path
	}
	held := filepath.Join(folder, filepath.Base(path))
	if _, err := os.Stat(held); err != nil {
		return path
	}
	return held
}

// unreadable adds to the error of opening a file what a service of systemd needs to read it; it returns other errors
// unchanged.
func unreadable(path string, err error) error {
	if !errors.Is(err, fs.ErrPermission) || os.Getenv("INVOCATION_ID") == "" {
		return err
	}
	return fmt.Errorf("%w; let systemd pass it on: systemctl edit cantle, [Service], LoadCredential=%s:%s", err, filepath.Base(path), path)
}

// readCredential reads a file that a setting names, see credential.
// Errors: errors of the file system, with advice if the user of a systemd service may not read the file.
func readCredential(path string) ([]byte, error) {
	text, err := os.ReadFile(credential(path))
	return text, unreadable(path, err)
}
