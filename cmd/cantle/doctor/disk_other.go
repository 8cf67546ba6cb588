//go:build !linux && !darwin && !freebsd && !windows

package doctor

import "errors"

// permissions reports whether the mode of a folder restricts access to it on this system.
const permissions = false

// diskOf returns ErrUnsupported: no call for free space is portable to the remaining systems.
func diskOf(string) (disk, error) { return disk{}, errors.ErrUnsupported }

// full reports whether an error means that the disk is full: never, on this system.
func full(error) bool { return false }
