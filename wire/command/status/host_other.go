//go:build !unix

package status

// pageFaults returns 0, because the number is not available on this system.
func pageFaults() int64 { return 0 }
