//go:build unix

package schema

import "syscall"

// disk returns the used and the total bytes of the disk on which temporary files are (Cluster.ScratchDir), or of that
// of the working directory if there are none; zeros if the system returns an error.
func (s *State) disk() (used, total int64) {
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
