package disk

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// watch tells an injector of every operation on a file system.
func watch(files vfs.FS, by errorfs.Injector) vfs.FS { return &watched{errorfs.Wrap(files, by)} }

// watched is an errorfs that watches files also when they are used again under another
// name, which the file system in memory does not do while it is being copied either.
type watched struct{ *errorfs.FS }

// ReuseForWrite implements vfs.FS.
func (w *watched) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := w.Rename(from, to); err != nil {
		return nil, err
	}
	return w.OpenReadWrite(to, c)
}
