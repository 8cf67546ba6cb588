//go:build !linux && !darwin && !freebsd && !windows

package doctor

import "errors"

// permissions reports whether the mode of a folder restricts access to it on this system.
const permissions = false

// diskOf is not implemented on this system.
func diskOf(string) (disk, error) { return disk{}, errors.ErrUnsupported }

// full reports whether an error means that the disk is full: never, on this system.
func full(error) bool { return false }
