//go:build !windows

package storage

import "syscall"

// noRoom are the codes of the operating system for a full disk or quota.
var noRoom = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT}
