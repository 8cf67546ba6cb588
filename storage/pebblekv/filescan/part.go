package filescan

import (
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// dirtyMax is the number of bytes of a file being written that the operating system may hold in memory before
// they go to the disk. By default it gathers gigabytes, and the next sync of a log on the same disk waits for
// all of them.
const dirtyMax = 1 << 20

// Part is a file that is being written.
type Part interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// CreatePart creates an empty file on the disk, readable by its owner only, that is written to the disk as it
// grows. Errors: those of the file system.
func CreatePart(path string) (Part, error) {
	made, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := made.Close(); err != nil {
		return nil, err
	}
	out, err := Disk.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	return vfs.NewSyncingFile(out, vfs.SyncingFileOptions{BytesPerSync: dirtyMax}), nil
}
