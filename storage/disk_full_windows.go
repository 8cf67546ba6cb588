package storage

import "syscall"

// noRoom are the codes of the operating system for a full disk or quota: ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL,
// ERROR_DISK_QUOTA_EXCEEDED.
var noRoom = []syscall.Errno{39, 112, 1295}
