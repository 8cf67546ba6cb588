package pebblekv

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// retainedName is the folder inside the store's folder that holds write-ahead logs which the store no longer
// needs, but the next backup does. If the folder exists, logs are kept, unless it holds a file named idleName:
// then no backup needs logs until KeepWrites is called again.
const (
	retainedName = "kept"
	idleName     = "IDLE"
)

// retainedAgeMax is the age at which kept logs that no backup has fetched are deleted; the oldest are also deleted when
// all exceed Options.KeptBytes, and all when the disk is full. Then the writes since the last backup cannot be
// replayed, and limitRetained logs that.
const retainedAgeMax = 48 * time.Hour

// logSuffix is the suffix of write-ahead logs.
const logSuffix = ".log"

// retainingFS is Pebble's file system in a writable store. While logs are kept for a backup and Pebble deletes or
// reuses a write-ahead log, it moves the file into the folder of kept logs.
type retainingFS struct {
	vfs.FS
	dir    string
	most   int64 // maximum size of all kept logs
	active atomic.Bool
	bytes  atomic.Int64 // size of the kept logs, updated every second
}

// newRetainingFS creates the file system for the store in dir. It keeps logs at once if the folder of kept logs
// exists without the file IDLE. most is the maximum size of all kept logs in bytes.
func newRetainingFS(files vfs.FS, dir string, most int64) *retainingFS {
	k := &retainingFS{FS: files, dir: dir, most: most}
	_, err := files.Stat(k.folder())
	_, busy := files.Stat(k.idle())
	k.active.Store(err == nil && busy != nil)
	return k
}

// idle returns the path of the file whose existence means that no logs are to be kept.
func (k *retainingFS) idle() string { return k.PathJoin(k.folder(), idleName) }

// KeptFolder returns the folder of kept logs of the store in the folder dir.
func KeptFolder(dir string) string { return filepath.Join(dir, retainedName) }

// folder returns the folder of kept logs.
func (k *retainingFS) folder() string { return k.PathJoin(k.dir, retainedName) }

// begin keeps write-ahead logs from now on, also after a restart. Errors: errors of the file system.
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

// end deletes all kept logs, and keeps none until begin is called. Other files in the folder stay.
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

// retains reports whether name is the path of a write-ahead log, and logs are kept at present: then it is moved
// instead of deleted.
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

// walFile is a file of the store's write-ahead log, in use or kept for a backup.
type walFile struct {
	number   uint64
	name     string
	retained bool
}

// path returns the path of a log file. A log in use may have been moved to the kept logs since it was listed.
func (k *retainingFS) path(l walFile) string {
	if l.retained {
		return k.PathJoin(k.folder(), l.name)
	}
	return k.PathJoin(k.dir, l.name)
}

// open opens a log for reading, also if it was moved to the kept logs since it was listed.
func (k *retainingFS) open(l walFile) (vfs.File, error) {
	file, err := k.FS.Open(k.path(l))
	if errors.Is(err, fs.ErrNotExist) && !l.retained {
		l.retained = true
		file, err = k.FS.Open(k.path(l))
	}
	return file, err
}

// list returns all write-ahead logs, in use and kept, in ascending order of their numbers. It reads the folder of
// logs in use first, so that a log that is moved meanwhile is not missed.
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

// drop deletes the kept logs whose number is less than below. Errors: errors of the file system.
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

// limit deletes the logs kept for the next backup that are older than two days, the oldest beyond the maximum size
// of all, and all if the disk is full. It reports whether it deleted any: then a backup can no longer continue the
// last one.
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
		if gaveUp || full || total+info.Size() > k.most || now.Sub(info.ModTime()) > retainedAgeMax {
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
