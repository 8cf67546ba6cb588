package filescan

import (
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// dirtyMax is the number of bytes of a file being written that the operating system may hold in memory before it
// writes them to the disk. By default it gathers gigabytes, and the next sync of a log on the same disk waits for
// all of them.
const dirtyMax = 1 << 20

// Part is a new file of a backup or a restore that is being written; CreatePart creates it.
type Part interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// CreatePart creates an empty file on the disk, readable by its owner only. The written bytes go to the disk after
// each MiB, so that no sync of another file waits for gigabytes of them. Errors: errors of the file system.
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
