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

// requestedFolder returns the folder for a backup that a client requests by to: the policy's folder if to is
// empty, or a folder directly in it, given by name or path. Symbolic links are resolved before the check. Errors:
// ErrNoFolder, ErrInData; an error for a folder elsewhere or a reserved name; errors of the file system.
func (r *Runner) requestedFolder(to string) (string, error) {
	root := r.policy.Folder
	switch {
	case root == "":
		return "", ErrNoFolder
	case to == "":
		return root, nil
	case !filepath.IsAbs(to):
		to = filepath.Join(root, to)
	}
	at, err := resolveLinks(to)
	if err != nil {
		return "", err
	}
	within, err := r.policy.within(at)
	if err != nil {
		return "", err
	}
	if within == "." {
		return root, nil
	}
	reserved := strings.HasPrefix(within, ".") || strings.HasSuffix(within, partSuffix) || within == lostFound
	if !filepath.IsLocal(within) || strings.ContainsRune(within, filepath.Separator) || strings.ContainsRune(within, 0) || reserved {
		return "", fmt.Errorf("%q is neither the server's folder for backups, %s, nor a folder directly in it: leave 'to' out, or give it a name as in to: \"weekly\"", to, root)
	}
	return filepath.Join(root, within), nil
}

// within returns the path at relative to the policy's folder. Errors: ErrInData if it lies inside the data folder;
// errors of the file system.
func (p *Policy) within(at string) (string, error) {
	root, err := resolveLinks(p.Folder)
	if err != nil {
		return "", err
	}
	if p.Data != "" {
		data, err := resolveLinks(p.Data)
		if err != nil {
			return "", err
		}
		if rel, err := filepath.Rel(data, at); err == nil && filepath.IsLocal(rel) {
			return "", ErrInData
		}
	}
	return filepath.Rel(root, at)
}

// ErrInData: the backup folder lies inside the data folder, and would be lost with it.
var ErrInData = errors.New("it lies within the folder of --data, and would be lost with it: choose another")

// Check checks the policy's backup folder when the server starts. Errors: ErrInData if it lies inside the data
// folder, ErrNoParent if its parent does not exist; errors of the file system.
func (p *Policy) Check() error {
	at, err := resolveLinks(p.Folder)
	if err == nil {
		_, err = p.within(at)
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(at)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s: %w", p.Folder, ErrNoParent)
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
