package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/pebblekv"
	"github.com/cantledb/cantle/storage/pebblekv/filescan"
)

// folderArchive is an Archive in the folder of this machine at its path.
type folderArchive string

// InFolder returns the archive in a folder of this machine, which need not exist.
func InFolder(path string) Archive { return folderArchive(path) }

// at returns the path of a file.
func (a folderArchive) at(name string) string {
	return filepath.Join(string(a), filepath.FromSlash(name))
}

// Location implements Archive.
func (a folderArchive) Location() string { return string(a) }

// Within implements Archive.
func (a folderArchive) Within(name string) Archive { return folderArchive(a.at(name)) }

// Prepare implements Archive. If the parent is missing, a disk is likely not mounted, and the backups would lie on the
// disk of the data.
func (a folderArchive) Prepare(context.Context) error {
	err := os.Mkdir(string(a), 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // openForWriting checks whether it is a backup folder
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s: %w", a, ErrNoParent)
	}
	return err
}

// List implements Archive.
func (a folderArchive) List(_ context.Context, dir string) ([]Entry, error) {
	entries, err := os.ReadDir(a.at(dir))
	list := make([]Entry, 0, len(entries))
	for _, e := range entries {
		x := Entry{Name: e.Name(), Folder: e.IsDir()}
		if !x.Folder {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed since the folder was listed
			}
			if err == nil {
				x.Size = info.Size()
			}
		}
		list = append(list, x)
	}
	return list, err
}

// Size implements Archive.
func (a folderArchive) Size(_ context.Context, name string) (int64, error) {
	info, err := os.Stat(a.at(name))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Open implements Archive.
func (a folderArchive) Open(_ context.Context, name string, from int64) (io.ReadCloser, error) {
	file, err := os.Open(a.at(name))
	if err != nil {
		return nil, err
	}
	if from != 0 {
		if _, err := file.Seek(from, io.SeekStart); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	return file, nil
}

// Create implements Archive.
func (a folderArchive) Create(_ context.Context, name string) (Writer, error) {
	at := a.at(name)
	out, err := filescan.CreatePart(at + partSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		if err := a.makeFolder(filepath.Dir(at)); err != nil {
			return nil, err
		}
		out, err = filescan.CreatePart(at + partSuffix)
	}
	if err != nil {
		return nil, err
	}
	return &folderWriter{out, at}, nil
}

// makeFolder creates and syncs a folder below the archive's, and its parents up to there.
func (a folderArchive) makeFolder(dir string) error {
	parent := filepath.Dir(dir)
	if parent != filepath.Clean(string(a)) {
		if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
			if err := a.makeFolder(parent); err != nil {
				return err
			}
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(parent)
}

// Settle implements Archive.
func (a folderArchive) Settle(dirs ...string) error {
	for _, dir := range dirs {
		if err := syncFolder(a.at(dir)); err != nil {
			return err
		}
	}
	return nil
}

// Remove implements Archive.
func (a folderArchive) Remove(_ context.Context, name string) error { return os.Remove(a.at(name)) }

// RemoveAll implements Archive.
func (a folderArchive) RemoveAll(_ context.Context, dir string) error { return os.RemoveAll(a.at(dir)) }

// Claim implements Archive. A hard link, unlike a rename, replaces no file.
func (a folderArchive) Claim(_ context.Context, name string, data []byte) error {
	part, err := os.CreateTemp(string(a), name+"-*"+partSuffix)
	if err != nil {
		return err
	}
	_, err = part.Write(data)
	if err = errors.Join(err, part.Sync(), part.Close()); err == nil {
		err = os.Link(part.Name(), a.at(name))
	}
	err = errors.Join(err, os.Remove(part.Name()))
	if errors.Is(err, fs.ErrExist) {
		there, bad := os.ReadFile(a.at(name))
		if bad != nil {
			return bad
		}
		if bytes.Equal(there, data) {
			err = nil
		}
	}
	return errors.Join(err, syncFolder(string(a)))
}

// Seize implements Archive: the former primary examines the terms before each write.
func (a folderArchive) Seize(context.Context) error { return nil }

// Sign implements Archive: no process keeps the lock.
func (a folderArchive) Sign(context.Context) (string, error) { return "", nil }

// Lock implements Archive.
func (a folderArchive) Lock(context.Context) (io.Closer, error) {
	lock, err := pebblekv.LockFolder(string(a))
	if errors.Is(err, storage.ErrLocked) {
		return nil, fmt.Errorf("the folder %s: %w", a, ErrBusy)
	}
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// KeepsLock implements Archive: reading the lists of a folder again is cheap, and several servers may share one.
func (a folderArchive) KeepsLock() bool { return false }

// Locked implements Archive.
func (a folderArchive) Locked(context.Context) bool { return locked(string(a)) }

// locked reports whether the lock of a folder is held, by this process or another.
func locked(dir string) bool {
	lock, err := pebblekv.LockFolder(dir)
	if err == nil {
		_ = lock.Close()
	}
	return errors.Is(err, storage.ErrLocked)
}

// Clean implements Archive.
func (a folderArchive) Clean(context.Context) error {
	entries, err := os.ReadDir(string(a))
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := a.at(e.Name())
		if strings.HasPrefix(e.Name(), scratchPrefix) {
			if locked(at) {
				continue
			}
		} else if !strings.HasSuffix(e.Name(), partSuffix) {
			continue
		}
		if err := os.RemoveAll(at); err != nil {
			return err
		}
	}
	return nil
}

// Hold implements Archive. The folder for the restore is inside the archive, where tables can be linked, or else among
// the system's temporary files. While a folder inside the archive is locked, Held reports true.
func (a folderArchive) Hold(context.Context) (dir string, release func(), err error) {
	if dir, err = os.MkdirTemp(string(a), scratchPrefix); err != nil {
		dir, err = os.MkdirTemp("", "cantle-"+scratchPrefix)
	}
	if err != nil {
		return "", nil, err
	}
	lock, err := pebblekv.LockFolder(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() {
		_ = lock.Close()
		_ = os.RemoveAll(dir)
	}, nil
}

// Held implements Archive.
func (a folderArchive) Held(context.Context) (bool, error) {
	entries, err := os.ReadDir(string(a))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), scratchPrefix) && locked(a.at(e.Name())) {
			return true, nil
		}
	}
	return false, err
}

// Link implements Archive, by a hard link, or else a symbolic link.
func (a folderArchive) Link(name, to string, size int64) (ok bool) {
	from := a.at(name)
	info, err := os.Stat(from)
	if err != nil || info.Size() != size {
		return false
	}
	if os.Link(from, to) == nil {
		return true
	}
	whole, err := filepath.Abs(from)
	return err == nil && os.Symlink(whole, to) == nil
}

// folderWriter writes a file under a temporary name.
type folderWriter struct {
	filescan.Part
	to string
}

// Local implements Writer.
func (w *folderWriter) Local() string { return w.to + partSuffix }

// Commit implements Writer.
func (w *folderWriter) Commit() error {
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		return err
	}
	return os.Rename(w.Local(), w.to)
}

// Abandon implements Writer.
func (w *folderWriter) Abandon() {
	_ = w.Close()
	_ = os.Remove(w.Local())
}
