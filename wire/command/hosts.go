package command

import (
	"os"

	"github.com/cantledb/cantle/collection/shard"
)

// Hostname returns the name of the machine, never an empty string.
func Hostname() string {
	if h, err := os.Hostname(); err == nil && h != "" {
		return h
	}
	return "localhost"
}

// ShardName returns the name by which clients see the shard of a partition.
func ShardName(id shard.ID) string { return "p" + id.String() }

// Address returns the host and port at which clients reach the server, for replies that name it. Addresses
// distinguish the servers over one store, even if they run on one machine.
func (s *Server) Address() string {
	if s.AdvertisedAddress != nil {
		if a := s.AdvertisedAddress(); a != "" {
			return a
		}
	}
	return s.FirstAddress()
}

// FirstAddress returns the address at which the first client reached the server; localhost:27017 before that.
func (s *Server) FirstAddress() string {
	if a, ok := s.firstAddress.Load().(string); ok {
		return a
	}
	return "localhost:27017"
}
