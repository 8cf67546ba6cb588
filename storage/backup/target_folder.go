package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoFolder: a client requests a backup, but the server was started without a folder for backups.
var ErrNoFolder = errors.New("the server was started without a folder for backups, and clients do not choose where it writes: start it with --backup-to FOLDER, " +
	"and with --backup-interval 0 if it is to make backups only when it is asked")

// requested returns the archive for a backup that a client requests by to: the policy's archive if to is empty, or
// one directly in it, given by name or location. Errors: ErrNoFolder, ErrInData; as Archive.Request.
func (r *Runner) requested(to string) (Archive, error) {
	root := r.policy.To
	switch {
	case root == nil:
		return nil, ErrNoFolder
	case to == "":
		return root, nil
	}
	if f, ok := root.(folderArchive); ok {
		if err := r.policy.checkOutside(f.absolute(to)); err != nil {
			return nil, err
		}
	}
	return root.Request(to)
}

// Reserved reports whether a name is not for a folder of backups in another one: names of the folder's own files, and
// hidden ones.
func Reserved(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, partSuffix) || strings.HasPrefix(name, scratchPrefix) || name == lostFound || name == lockName || name == markerName || isTerm(name)
}

// absolute returns the path of a folder that is given by its path or its name in the archive.
func (a folderArchive) absolute(to string) string {
	if filepath.IsAbs(to) {
		return to
	}
	return filepath.Join(string(a), to)
}

// Request implements Archive. Symbolic links are resolved before the check.
func (a folderArchive) Request(to string) (Archive, error) {
	root, err := resolveLinks(string(a))
	if err != nil {
		return nil, err
	}
	at, err := resolveLinks(a.absolute(to))
	if err != nil {
		return nil, err
	}
	within, err := filepath.Rel(root, at)
	if err != nil {
		return nil, err
	}
	if within == "." {
		return a, nil
	}
	if !filepath.IsLocal(within) || strings.ContainsRune(within, filepath.Separator) || strings.ContainsRune(within, 0) || Reserved(within) {
		return nil, fmt.Errorf("%q is neither the server's folder for backups, %s, nor a folder directly in it: leave 'to' out, or give it a name as in to: \"weekly\"", a.absolute(to), a)
	}
	return a.Within(within), nil
}

// checkOutside returns ErrInData if a path lies inside the data folder. Errors: errors of the file system.
func (p *Policy) checkOutside(path string) error {
	if p.Data == "" {
		return nil
	}
	at, err := resolveLinks(path)
	if err != nil {
		return err
	}
	data, err := resolveLinks(p.Data)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(data, at); err == nil && filepath.IsLocal(rel) {
		return ErrInData
	}
	return nil
}

// ErrInData: the backup folder lies inside the data folder, and would be lost with it.
var ErrInData = errors.New("it lies within the folder of --data, and would be lost with it: choose another")

// Check checks the policy's archive when the server starts, if it is a folder. Errors: ErrInData if it lies inside the
// data folder, ErrNoParent if its parent does not exist; errors of the file system.
func (p *Policy) Check() error {
	f, ok := p.To.(folderArchive)
	if !ok {
		return nil
	}
	if err := p.checkOutside(string(f)); err != nil {
		return err
	}
	at, err := resolveLinks(string(f))
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(at)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s: %w", f, ErrNoParent)
	}
	return nil
}

// resolveLinks replaces the symbolic links in the existing part of a path, and keeps the rest. Errors: errors of
// the file system.
func resolveLinks(path string) (string, error) {
	path, rest := filepath.Clean(path), ""
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if info, bad := os.Lstat(path); bad == nil && info.Mode()&fs.ModeSymlink != 0 || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
			return "", err
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}
