//go:build !unix

package storagetest

import "time"

// cpuTime returns 0, because the CPU time of the process is not available on this system.
func cpuTime() time.Duration { return 0 }
