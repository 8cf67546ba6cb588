package status

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/wire/command"
)

// MemoryShare is one part of the memory limit of the server, which serverStatus shows under its name.
type MemoryShare struct {
	Name   string            // the field of serverStatus
	Memory *ratelimit.Memory // counts the memory that is held
}

// statusWorkMemory appends the section workMemory of serverStatus: the bytes that the server holds for clients, in
// total and by its parts.
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
