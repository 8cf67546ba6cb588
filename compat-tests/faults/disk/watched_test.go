package disk

import (
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// watch passes every operation of a file system to an injector.
func watch(files vfs.FS, by errorfs.Injector) vfs.FS { return &watched{errorfs.Wrap(files, by)} }

// watched is an errorfs that also passes on operations of files that are reused under another name. The file
// system in memory does not do that either while it is being copied.
type watched struct{ *errorfs.FS }

// ReuseForWrite implements vfs.FS.
func (w *watched) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := w.Rename(from, to); err != nil {
		return nil, err
	}
	return w.OpenReadWrite(to, c)
}
