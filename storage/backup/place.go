package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNowhere: a client asks for a backup, and the server was given no folder for them.
var ErrNowhere = errors.New("the server was started without a folder for backups, and clients do not choose where it writes: start it with --backup-to FOLDER, " +
	"and with --backup-interval 0 if it is to make backups only when it is asked")

// place is where a client's backup goes: into the folder of the policy, which "" stands for, or into one directly in it, given
// by its name or by its path. Symbolic links are followed before that is decided.
// Errors: ErrNowhere; a place elsewhere; those of the file system.
func (r *Runner) place(to string) (string, error) {
	root := r.policy.Folder
	switch {
	case root == "":
		return "", ErrNowhere
	case to == "":
		return root, nil
	case !filepath.IsAbs(to):
		to = filepath.Join(root, to)
	}
	at, err := followed(to)
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

// within is a folder as seen from that of the policy. Errors: one within the data; those of the file system.
func (p *Policy) within(at string) (string, error) {
	root, err := followed(p.Folder)
	if err != nil {
		return "", err
	}
	if p.Data != "" {
		data, err := followed(p.Data)
		if err != nil {
			return "", err
		}
		if rel, err := filepath.Rel(data, at); err == nil && filepath.IsLocal(rel) {
			return "", ErrInData
		}
	}
	return filepath.Rel(root, at)
}

// ErrInData: the folder for backups lies within that of the data.
var ErrInData = errors.New("it lies within the folder of --data, and would be lost with it: choose another")

// Check refuses a folder that lies within that of the data, and one in a folder that is not there.
// Errors: ErrInData, ErrParent; those of the file system.
func (p *Policy) Check() error {
	at, err := followed(p.Folder)
	if err == nil {
		_, err = p.within(at)
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(at)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s: %w", p.Folder, ErrParent)
	}
	return nil
}

// followed is a path without symbolic links, as far as there are folders. Errors: those of the file system.
func followed(path string) (string, error) {
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
