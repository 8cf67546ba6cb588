//go:build darwin || freebsd

package doctor

import (
	"slices"

	"golang.org/x/sys/unix"
)

// permissions reports that the mode of a folder restricts access to the folder on this system, so that the doctor
// checks it.
const permissions = true

// diskOf returns the statistics of a folder's file system.
func diskOf(folder string) (disk, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return disk{}, err
	}
	block := uint64(s.Bsize)
	d := disk{total: uint64(s.Blocks) * block, free: uint64(max(s.Bavail, 0)) * block}
	name := unix.ByteSliceToString(s.Fstypename[:])
	if slices.Contains([]string{"nfs", "smbfs", "webdav", "afpfs"}, name) {
		d.kind = name
	}
	return d, nil
}
