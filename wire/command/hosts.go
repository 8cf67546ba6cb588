package command

import (
	"os"

	"github.com/cantledb/cantle/collection/shard"
)

// Hostname is the machine's name, never empty.
func Hostname() string {
	if h, err := os.Hostname(); err == nil && h != "" {
		return h
	}
	return "localhost"
}

// ShardName is what the shard of a partition is called.
func ShardName(id shard.ID) string { return "p" + id.String() }

// Address is what the server is called wherever an answer says whose it is: the host and port at
// which clients reach it, which tell apart several servers over one store, also on one machine.
func (s *Server) Address() string {
	if s.Reached != nil {
		if a := s.Reached(); a != "" {
			return a
		}
	}
	return s.Found()
}

// Found is where the first client found the server.
func (s *Server) Found() string {
	if a, ok := s.seenAt.Load().(string); ok {
		return a
	}
	return "localhost:27017"
}
