package changestream

import (
	"hash/maphash"

	"github.com/cantledb/cantle/storage/keyspace"
)

// versionsMax bounds the document versions whose hashes are held; beyond it, a version can be delivered twice.
const versionsMax = 4096

// versions holds hashes of the document versions that were delivered since the last poll that found nothing
// more. The zero value is ready.
type versions struct {
	seed  maphash.Seed
	known map[uint64]struct{}
	last  uint64 // hash of the last call of wasDelivered
}

// wasDelivered reports whether a version of a record was delivered already.
func (v *versions) wasDelivered(h keyspace.Hash, id, doc []byte) bool {
	if v.known == nil {
		v.seed, v.known = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	v.last = maphash.Comparable(v.seed, [3]uint64{uint64(h), maphash.Bytes(v.seed, id), maphash.Bytes(v.seed, doc)})
	_, ok := v.known[v.last]
	return ok
}

// delivered records that the version of the last call of wasDelivered was delivered.
func (v *versions) delivered() {
	if v.known != nil && len(v.known) < versionsMax {
		v.known[v.last] = struct{}{}
	}
}

func (v *versions) reset() { clear(v.known) }
