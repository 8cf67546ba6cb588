//go:build unix

package command

import "syscall"

// disk is how much of the disk is used, and how large it is, in bytes.
func (c *Call) disk() (used, total int64) {
	dir := c.Cluster.ScratchDir
	if dir == "" {
		dir = "."
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0
	}
	size := int64(s.Bsize)
	total = int64(s.Blocks) * size
	return total - int64(s.Bfree)*size, total
}
