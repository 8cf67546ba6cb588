package shard

import (
	"slices"

	"github.com/cantledb/cantle/collection/mongoerr"
)

// Move returns the next map, in which a shard has another id, that of another place: same range, same index
// partitions, nothing more to settle. If the id may have been used before, the map gets a new epoch.
// Errors: ShardNotFound; BadValue if another shard has the id.
func (m *Map) Move(id, to ID) (*Map, error) {
	i, ok := m.byID[id]
	if !ok {
		return nil, unknownShard(id)
	}
	if _, taken := m.byID[to]; taken {
		return nil, mongoerr.New(mongoerr.BadValue, "shard %v exists already", to)
	}
	next := m.next()
	if to < next.nextID {
		next.version = Version{Epoch: m.version.Epoch + 1, Minor: 1}
		for j, d := range next.shards {
			again := *d
			again.Since, again.Parents = 1, slices.DeleteFunc(slices.Clone(d.Parents), func(p ID) bool { return p == to })
			next.shards[j] = &again
		}
	}
	moved := *next.shards[i]
	moved.ID, moved.Since, moved.Parents = to, next.version.Minor, nil
	next.shards[i] = &moved
	next.nextID = max(next.nextID, to+1)
	return next.index(), nil
}
