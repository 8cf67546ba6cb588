//go:build !linux && !darwin && !freebsd && !windows

package doctor

import "errors"

// permissions is whether the mode of a folder says who may look into it.
const permissions = false

// diskOf knows nothing of this system's disks.
func diskOf(string) (disk, error) { return disk{}, errors.ErrUnsupported }

// full recognises a disk without room.
func full(error) bool { return false }
