//go:build !unix

package filescan

import (
	"io"
	"os"
)

// shareLock only opens the lock file, because this operating system has no locks that readers share.
func shareLock(name string) (io.Closer, error) { return os.Open(name) }
