package cluster

import (
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/ratelimit"
)

// withinCap returns how many of the next n documents to write, whose bytes are given, stay below the command's cap by so many
// times the highest price of a write; at least one.
func (o *Op) withinCap(coll *catalog.Collection, n int, times ratelimit.MicroRU, bytes func(i int) int) int {
	if o.Cap == nil {
		return n
	}
	left, fields := o.Cap.Left(), 0
	for _, ix := range coll.Indexes {
		fields += len(ix.Fields())
	}
	for i := range n {
		if left -= times * o.Cap.WriteAtMost(bytes(i), fields); left < 0 && i > 0 {
			return i
		}
	}
	return n
}
