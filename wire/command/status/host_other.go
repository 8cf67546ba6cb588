//go:build !unix

package status

// processUsage returns 0, because this operating system does not provide these numbers.
func processUsage() (userMicros, systemMicros, pageFaults int64) { return 0, 0, 0 }
