//go:build !unix

package schema

// disk returns zeros for the used and total bytes of the disk, because this operating system does not provide them.
func (s *State) disk() (used, total int64) { return 0, 0 }
