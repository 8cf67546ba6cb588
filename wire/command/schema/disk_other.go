//go:build !unix

package schema

// disk returns zeros, because the sizes are not available on this system.
func (s *State) disk() (used, total int64) { return 0, 0 }
