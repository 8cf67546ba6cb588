package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/command"
)

// MemoryShare is one of the shares into which the server's memory is divided.
type MemoryShare struct {
	Name   string            // Name is the field of serverStatus
	Memory *ratelimit.Memory // Memory counts what is held
}

// statusWorkMemory tells what clients make the server hold: all of it, and its parts.
func (s *State) statusWorkMemory(c *command.Call, b *bson.Builder) {
	for _, share := range s.MemoryShares {
		st := share.Memory.Stats()
		b.BeginDoc(share.Name)
		b.Int64("maxBytes", st.Max)
		b.Int64("bytes", st.Used)
		b.Int64("peakBytes", st.Peak)
		b.Int64("refused", st.Refused)
		b.End()
	}
}
