//go:build !linux

package doctor

// holder returns "", an unknown program: only Linux lists the open files of other processes in /proc.
func holder(string) string { return "" }
