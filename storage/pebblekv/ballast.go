package pebblekv

import (
	"crypto/rand"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ballastName is the file that takes up room until it is needed.
const ballastName = "ballast"

// A ballast is two memtables and what one compaction makes of six others, on a small disk less.
const (
	ballastMax   = 256 << 20
	ballastShare = 16 // of the disk is the most
	ballastSteps = 4  // in which it grows with the store: a store that holds little needs little
)

// ballastAgain is how long it is not tried again after it could not be made.
const ballastAgain = time.Minute

// memtableShare of the disk is the most that a memtable may have, of which there are a
// dozen on the disk at times: as logs, tables and what compactions make of them.
const memtableShare = 128

// ballast is a file without content whose space is let go when there is no other.
type ballast struct {
	files   vfs.FS
	path    string
	lacking atomic.Int64 // bytes that were let go and are not there again

	failed atomic.Bool // it could not be made, not long ago

	mu   sync.Mutex
	size int64
}

// open finds out what an earlier process left.
func (b *ballast) open(files vfs.FS, dir string) {
	b.files, b.path = files, files.PathJoin(dir, ballastName)
	if info, err := files.Stat(b.path); err == nil {
		b.size = info.Size()
	}
}

// bytes is how large it is.
func (b *ballast) bytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

// wanted is how large it is to be for a store of so many bytes.
func (b *ballast) wanted(disk, store int64) int64 {
	most := min(disk/ballastShare, ballastMax)
	step := most / ballastSteps
	if step == 0 {
		return 0
	}
	return min(store/step, ballastSteps) * step
}

// grow makes it so large. Errors: what the file system says; then it is as before.
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
	b.lacking.Store(0)
	return nil
}

// fill has the file system keep space for a part of a file, the last byte of which is
// written, so that the file shows how large it is.
func fill(file vfs.File, from, to int64) error {
	if err := file.Preallocate(from, to-from); err == nil && runtime.GOOS == "linux" {
		_, err := file.WriteAt([]byte{0}, to-1)
		return err
	} else if noRoom(err) {
		return err
	}
	// Not all file systems can; some pack zeros.
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

// release lets it go, and reports whether there was one.
func (b *ballast) release() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size == 0 || b.files.Remove(b.path) != nil {
		return false
	}
	b.lacking.Add(b.size)
	b.size = 0
	return true
}
