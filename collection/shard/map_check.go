package shard

import (
	"bytes"
	"fmt"

	"github.com/cantledb/cantle/storage/keyspace"
)

// Check checks the invariants of a shard map that the package comment lists. It returns a plain error, not one of
// the protocol: a map that fails is corrupt, whatever the client did.
func (m *Map) Check() error {
	if len(m.shards) == 0 || len(m.shards) > ShardsMax {
		return fmt.Errorf("%d shards", len(m.shards))
	}
	if m.kind > Ranged || m.kind == Unsharded && len(m.shards) != 1 {
		return fmt.Errorf("%d shards of kind %d", len(m.shards), m.kind)
	}
	ids := make(map[ID]bool, len(m.shards))
	newest := make(map[keyspace.PartitionID]ID, len(m.shards))
	for i, d := range m.shards {
		switch {
		case ids[d.ID] || d.ID >= m.nextID:
			return fmt.Errorf("shard id %v is not unique or not below %v", d.ID, m.nextID)
		case i == 0 && len(d.Lo) != 0:
			return fmt.Errorf("the first shard %v begins at %v", d.ID, d.Lo)
		case i > 0 && !bytes.Equal(m.shards[i-1].Hi, d.Lo):
			return fmt.Errorf("shard %v ends at %v, shard %v begins at %v", m.shards[i-1].ID, m.shards[i-1].Hi, d.ID, d.Lo)
		case i > 0 && len(d.Lo) == 0:
			return fmt.Errorf("shard %v begins where the line does", d.ID)
		case i == len(m.shards)-1 && d.Hi != nil:
			return fmt.Errorf("the last shard %v ends at %v", d.ID, d.Hi)
		case d.IsEmpty():
			return fmt.Errorf("shard %v is empty", d.ID)
		case i > 0 && !m.fits(d.Lo):
			return fmt.Errorf("shard %v begins at %v, which is no position inside the line", d.ID, d.Lo)
		case d.Since == 0 || d.Since > m.version.Minor:
			return fmt.Errorf("shard %v is of version %d, the map of %d", d.ID, d.Since, m.version.Minor)
		case len(d.Partitions) == 0 || len(d.Partitions) > partitionsMax:
			return fmt.Errorf("shard %v has %d partitions", d.ID, len(d.Partitions))
		}
		for _, p := range d.Parents {
			if p >= d.ID {
				return fmt.Errorf("shard %v comes from %v", d.ID, p)
			}
		}
		seen := make(map[keyspace.PartitionID]bool, len(d.Partitions))
		for _, p := range d.Partitions {
			if seen[p] || p >= m.nextPartition {
				return fmt.Errorf("shard %v: partition %d is not unique or not below %d", d.ID, p, m.nextPartition)
			}
			seen[p] = true
		}
		if other, taken := newest[d.Newest()]; taken {
			return fmt.Errorf("shards %v and %v both write to partition %d", other, d.ID, d.Newest())
		}
		ids[d.ID], newest[d.Newest()] = true, d.ID
	}
	return nil
}
