//go:build !unix

package storagetest

import "time"

// cpuTime is not available here; the metric is 0.
func cpuTime() time.Duration { return 0 }
