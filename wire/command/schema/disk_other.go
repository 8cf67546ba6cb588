//go:build !unix

package schema

// disk is unknown here.
func (s *State) disk() (used, total int64) { return 0, 0 }
