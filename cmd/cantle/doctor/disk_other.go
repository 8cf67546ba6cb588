//go:build !linux && !darwin && !freebsd && !windows

package doctor

import "errors"

// permissions reports that the mode of a folder does not restrict access to the folder on this system, so that the
// doctor does not check it.
const permissions = false

// diskOf returns ErrUnsupported: no system call for the free space of a disk is common to the remaining systems.
func diskOf(string) (disk, error) { return disk{}, errors.ErrUnsupported }
