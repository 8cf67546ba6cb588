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

// Address is where clients find the server, as far as it knows.
func (s *Server) Address() string {
	if a, ok := s.seenAt.Load().(string); ok {
		return a
	}
	return "localhost:27017"
}
