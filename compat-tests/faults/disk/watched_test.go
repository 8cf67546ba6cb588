package disk

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// watch returns a file system that passes every operation to an injector, which can delay it or make it fail.
func watch(files vfs.FS, by errorfs.Injector) vfs.FS { return &watched{errorfs.Wrap(files, by)} }

// watched is an errorfs.FS whose injector also gets the operations on files that are reused under another name,
// which errorfs omits. While a file system in memory is being copied, it does not reuse files either.
type watched struct{ *errorfs.FS }

// ReuseForWrite implements vfs.FS.
func (w *watched) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := w.Rename(from, to); err != nil {
		return nil, err
	}
	return w.OpenReadWrite(to, c)
}
