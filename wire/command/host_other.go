//go:build !unix

package command

// pageFaults are unknown here.
func pageFaults() int64 { return 0 }

// disk is unknown here.
func (s *Server) disk() (used, total int64) { return 0, 0 }
