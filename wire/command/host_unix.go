//go:build unix

package command

import "syscall"

// pageFaults is how often the process waited for a page from a disk.
func pageFaults() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return int64(u.Majflt)
}

// disk is how much of the disk is used, and how large it is, in bytes.
func (s *Server) disk() (used, total int64) {
	dir := s.Cluster.ScratchDir
	if dir == "" {
		dir = "."
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, 0
	}
	size := int64(fs.Bsize)
	total = int64(fs.Blocks) * size
	return total - int64(fs.Bfree)*size, total
}
