//go:build !linux

package doctor

// holder is not implemented on this system.
func holder(string) string { return "" }
