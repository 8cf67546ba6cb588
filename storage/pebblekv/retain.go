package pebblekv

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// retainedName is the folder, within that of the store, with logs that the store no longer needs and a
// backup still does. If the folder exists, logs are kept, unless it holds a file named idleName: then
// no backup needs logs until the next one.
const (
	retainedName = "kept"
	idleName     = "IDLE"
)

// retainedAgeMax is the age at which logs that no backup has fetched are deleted; the oldest are also
// deleted when all exceed Options.KeptBytes. Then the writes since the last backup cannot be
// replayed, and the next backup reports that.
const retainedAgeMax = 48 * time.Hour

// logSuffix is the suffix of write-ahead logs.
const logSuffix = ".log"

// retainingFS is a file system that moves logs aside when Pebble deletes or reuses them.
type retainingFS struct {
	vfs.FS
	dir    string
	most   int64 // maximum size of all kept logs
	active atomic.Bool
	bytes  atomic.Int64 // size of the kept logs, updated every second
}

// newRetainingFS finds out whether logs of the store in dir are to be kept.
func newRetainingFS(files vfs.FS, dir string, most int64) *retainingFS {
	k := &retainingFS{FS: files, dir: dir, most: most}
	_, err := files.Stat(k.folder())
	_, busy := files.Stat(k.idle())
	k.active.Store(err == nil && busy != nil)
	return k
}

// idle returns the path of the file that means that no logs are to be kept.
func (k *retainingFS) idle() string { return k.PathJoin(k.folder(), idleName) }

// folder returns the folder of kept logs.
func (k *retainingFS) folder() string { return k.PathJoin(k.dir, retainedName) }

// begin keeps logs from now on.
func (k *retainingFS) begin() error {
	if k.active.Load() {
		return nil
	}
	if err := k.MkdirAll(k.folder(), 0o700); err != nil {
		return err
	}
	if err := k.FS.Remove(k.idle()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d, err := k.OpenDir(k.dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	k.active.Store(true)
	return nil
}

// end deletes all kept logs, and keeps none until begin. Other files in the folder stay.
func (k *retainingFS) end() error {
	if !k.active.Load() {
		return nil
	}
	file, err := k.Create(k.idle(), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	k.active.Store(false)
	k.bytes.Store(0)
	return k.drop(math.MaxUint64)
}

// retains reports whether a file is a log to be kept.
func (k *retainingFS) retains(name string) bool {
	return k.active.Load() && strings.HasSuffix(name, logSuffix) && k.PathDir(name) == k.dir
}

// Remove implements vfs.FS.
func (k *retainingFS) Remove(name string) error {
	if k.retains(name) {
		return k.Rename(name, k.PathJoin(k.folder(), k.PathBase(name)))
	}
	return k.FS.Remove(name)
}

// ReuseForWrite implements vfs.FS.
func (k *retainingFS) ReuseForWrite(oldName, newName string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if k.retains(oldName) {
		if err := k.Remove(oldName); err != nil {
			return nil, err
		}
		return k.Create(newName, c)
	}
	return k.FS.ReuseForWrite(oldName, newName, c)
}

// Unwrap implements vfs.FS.
func (k *retainingFS) Unwrap() vfs.FS { return k.FS }

// walFile is a log of the store, in use or kept.
type walFile struct {
	number   uint64
	name     string
	retained bool
}

// path returns the path of a log; a log in use may have been moved since it was listed.
func (k *retainingFS) path(l walFile) string {
	if l.retained {
		return k.PathJoin(k.folder(), l.name)
	}
	return k.PathJoin(k.dir, l.name)
}

// open opens a log for reading.
func (k *retainingFS) open(l walFile) (vfs.File, error) {
	file, err := k.FS.Open(k.path(l))
	if errors.Is(err, fs.ErrNotExist) && !l.retained {
		l.retained = true
		file, err = k.FS.Open(k.path(l))
	}
	return file, err
}

// list returns all logs in ascending order. Logs in use are listed first, so that one that is moved
// meanwhile is not missed.
func (k *retainingFS) list() ([]walFile, error) {
	var logs []walFile
	for _, kept := range []bool{false, true} {
		dir := k.dir
		if kept {
			dir = k.folder()
		}
		names, err := k.List(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			number, err := strconv.ParseUint(strings.TrimSuffix(name, logSuffix), 10, 64)
			if err == nil && strings.HasSuffix(name, logSuffix) {
				logs = append(logs, walFile{number, name, kept})
			}
		}
	}
	slices.SortStableFunc(logs, func(a, b walFile) int { return cmp.Compare(a.number, b.number) })
	return slices.CompactFunc(logs, func(a, b walFile) bool { return a.number == b.number }), nil
}

// drop deletes kept logs below a number.
func (k *retainingFS) drop(below uint64) error {
	logs, err := k.list()
	if err != nil {
		return err
	}
	for _, l := range logs {
		if l.retained && l.number < below {
			if err := k.FS.Remove(k.path(l)); err != nil {
				return err
			}
		}
	}
	return nil
}

// limit deletes the oldest kept logs if they exceed the maximum size or age, or if the disk is full,
// and reports whether it deleted any.
func (k *retainingFS) limit(now time.Time, full bool) (gaveUp bool) {
	if !k.active.Load() {
		return false
	}
	logs, err := k.list()
	if err != nil {
		return false
	}
	total := int64(0)
	for _, l := range slices.Backward(logs) {
		if !l.retained {
			continue
		}
		info, err := k.Stat(k.path(l))
		if err != nil {
			continue
		}
		if full || total+info.Size() > k.most || now.Sub(info.ModTime()) > retainedAgeMax {
			if k.FS.Remove(k.path(l)) == nil {
				gaveUp = true
				continue
			}
		}
		total += info.Size()
	}
	k.bytes.Store(total)
	return gaveUp
}
