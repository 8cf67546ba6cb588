//go:build !unix

package status

// pageFaults returns 0 as the number of page faults, because this operating system does not provide it.
func pageFaults() int64 { return 0 }
