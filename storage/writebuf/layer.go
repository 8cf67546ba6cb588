package writebuf

import (
	"math"

	"github.com/cantledb/cantle/storage"
)

// Layer is the content of a Buffer up to an epoch: the writes over the transaction's snapshot.
// The zero value is empty. Later writes and rollbacks of them do not change a layer of
// Snapshot, nor iterators over it; they may not run at the same time as its reads.
type Layer struct {
	b    *Buffer
	upTo uint32 // the last epoch that it includes
}

// version is a value that was overwritten after a snapshot had been taken; nil is a deletion.
type version struct {
	value []byte
	older *version
	epoch uint32
}

// versionBytes is the size of a version, whose value lies in the arena.
const versionBytes = 48

// Newest returns the layer of all writes, including later ones. Its iterators must be closed
// before the next write.
func (b *Buffer) Newest() Layer { return Layer{b, math.MaxUint32} }

// Snapshot returns the layer of the writes up to now, without later ones.
func (b *Buffer) Snapshot() Layer {
	if b.dirty {
		b.epoch++
		b.dirty = false
	}
	if b.epoch == 0 {
		return Layer{}
	}
	return Layer{b, b.epoch - 1}
}

// IsEmpty reports whether the layer certainly has no writes. It may be false for a layer
// without writes.
func (l Layer) IsEmpty() bool { return l.b == nil || l.b.writes.count == 0 }

// Get returns the value of key, aliasing the buffer.
func (l Layer) Get(key []byte) ([]byte, State) {
	if l.IsEmpty() {
		return nil, Untouched
	}
	p, ok := l.b.writes.find(key)
	if !ok {
		return nil, Untouched
	}
	v, ok := l.version(l.b.writes.entry(p))
	switch {
	case !ok:
		return nil, Untouched
	case v == nil:
		return nil, Deleted
	}
	return v, Written
}

// version returns the value of an entry in the layer; false if the entry is newer.
func (l Layer) version(e *entry) ([]byte, bool) {
	if e.epoch <= l.upTo {
		return e.value, true
	}
	for v := e.older; v != nil; v = v.older {
		if v.epoch <= l.upTo {
			return v.value, true
		}
	}
	return nil, false
}

// Over returns an iterator over base with the layer over it, see Merge.
func (l Layer) Over(base storage.Iterator, r storage.Range, reverse bool) storage.Iterator {
	if l.IsEmpty() {
		return Guard(base)
	}
	return Guard(Merge(base, l, r, reverse))
}
