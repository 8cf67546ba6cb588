package pebblekv

import (
	"crypto/rand"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cantledb/cantle/storage"
)

// ballastName is the name of the ballast file, which occupies disk space that is freed when the disk is full.
const ballastName = "ballast"

// The ballast has at most as many bytes as two memtables and the output of one compaction of six others. On a small
// disk, and for a small store, it is smaller.
const (
	ballastMax   = 256 << 20
	ballastShare = 16 // the ballast is at most a 16th of the disk
	ballastSteps = 4  // the ballast grows with the store in four steps, so that a small store has a small one
)

// ballastRetry is the pause after a failed attempt to create the ballast.
const ballastRetry = time.Minute

// memtableShare limits a memtable to a 128th of the disk: a dozen of them may lie on the disk at times, as logs,
// tables and outputs of compactions.
const memtableShare = 128

// ballast is a file of which only the size matters. It is deleted when the disk is almost full (see
// diskSpace): then deletes and drops, which free space, can still run.
type ballast struct {
	files   vfs.FS
	path    string
	missing atomic.Int64 // bytes by which the ballast is too small now

	failed atomic.Bool // a recent attempt to create it failed

	mu   sync.Mutex
	size int64
}

// open finds the ballast file that an earlier process has left, and its size.
func (b *ballast) open(files vfs.FS, dir string) {
	b.files, b.path = files, files.PathJoin(dir, ballastName)
	if info, err := files.Stat(b.path); err == nil {
		b.size = info.Size()
	}
}

// bytes returns the size of the ballast.
func (b *ballast) bytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

// target returns the size in bytes that the ballast should have for a disk and a store of so many bytes.
func (b *ballast) target(disk, store int64) int64 {
	most := min(disk/ballastShare, ballastMax)
	step := most / ballastSteps
	if step == 0 {
		return 0
	}
	return min(store/step, ballastSteps) * step
}

// grow enlarges the ballast to so many bytes. Errors: errors of the file system; then it counts with its old size.
func (b *ballast) grow(to int64) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if to <= b.size {
		return nil
	}
	file, err := b.files.OpenReadWrite(b.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err = fill(file, b.size, to); err == nil {
		err = file.SyncData()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		if b.size == 0 {
			err = errors.Join(err, b.files.Remove(b.path))
		}
		return err
	}
	b.size = to
	b.missing.Store(0)
	return nil
}

// fill allocates disk space for the bytes from from up to to of a file, and writes the last one, so that the size
// of the file includes them.
func fill(file vfs.File, from, to int64) error {
	if err := file.Preallocate(from, to-from); err == nil && runtime.GOOS == "linux" {
		_, err := file.WriteAt([]byte{0}, to-1)
		return err
	} else if storage.IsDiskFull(err) {
		return err
	}
	// Not all file systems can preallocate, and some compress zeros: so random bytes are written.
	noise := make([]byte, 1<<20)
	_, _ = rand.Read(noise)
	for at := from; at < to; {
		n, err := file.WriteAt(noise[:min(int64(len(noise)), to-at)], at)
		if at += int64(n); err != nil {
			return err
		}
	}
	return nil
}

// release deletes the ballast, and reports whether it did.
func (b *ballast) release() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size == 0 || b.files.Remove(b.path) != nil {
		return false
	}
	b.missing.Add(b.size)
	b.size = 0
	return true
}
