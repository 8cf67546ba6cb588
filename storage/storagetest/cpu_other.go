//go:build !unix

package storagetest

import "time"

// cpuTime is not known here; the metric reads 0.
func cpuTime() time.Duration { return 0 }
