package defects

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Limits of the files.
const (
	filesMax     = 32
	fileBytesMax = 64 << 10
)

// keep writes a file about the first defect of a kind, and returns the name of the file; "" if no folder is set. It
// replaces a file about the same kind from before a restart, and removes the oldest files if there are too many.
func (j *Journal) keep(where, what string, id uint64, stack []byte) (string, error) {
	if j.Folder == "" {
		return "", nil
	}
	if err := os.MkdirAll(j.Folder, 0o700); err != nil {
		return "", err
	}
	name := fmt.Sprintf("defect-%016x.txt", id)
	if err := j.makeRoom(name); err != nil {
		return "", err
	}
	text := fmt.Sprintf("cantle %s\n%s\nin: %s\n\n%.4096s\n\n%s", j.Version, time.Now().UTC().Format(time.RFC3339), where, what, stack)
	path := filepath.Join(j.Folder, name)
	if err := os.WriteFile(path, []byte(text[:min(len(text), fileBytesMax)]), 0o600); err != nil {
		_ = os.Remove(path) // a full disk may have left it half written
		return "", err
	}
	return path, nil
}

// makeRoom removes the oldest files of defects in the folder, except the one with the given name, until there is room
// for one more.
func (j *Journal) makeRoom(name string) error {
	list, err := os.ReadDir(j.Folder)
	if err != nil {
		return err
	}
	var others []fs.FileInfo
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), "defect-") || e.Name() == name {
			continue
		}
		if info, err := e.Info(); err == nil { // otherwise it is gone
			others = append(others, info)
		}
	}
	slices.SortStableFunc(others, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range others[:max(0, len(others)-filesMax+1)] {
		if err := os.Remove(filepath.Join(j.Folder, info.Name())); err != nil {
			return err
		}
	}
	return nil
}
