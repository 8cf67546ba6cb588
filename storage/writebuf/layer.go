package writebuf

import (
	"math"

	"github.com/cantledb/cantle/storage"
)

// Layer is a view of the writes in a Buffer up to an epoch, which a reader sees over the transaction's snapshot.
// The zero value is empty. Later writes, and rollbacks of them, do not change a layer of Snapshot, nor iterators
// over it; they may not run at the same time as its reads.
type Layer struct {
	b    *Buffer
	upTo uint32 // the last epoch whose writes the layer includes
}

// version is an earlier value of a key, overwritten after a snapshot had been taken, for readers of that snapshot;
// a nil value is a deletion.
type version struct {
	value []byte
	older *version
	epoch uint32
}

// versionBytes is the memory in bytes that one overwritten version takes, besides its value in the arena.
const versionBytes = 48

// Newest returns the layer of all writes of the buffer, also those that come later. Its iterators must be closed
// before the next write.
func (b *Buffer) Newest() Layer { return Layer{b, math.MaxUint32} }

// Snapshot returns the layer of the writes in the buffer up to now, which later writes do not change.
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

// IsEmpty reports whether the layer certainly has no writes, so that reads can skip it. It may be false for a
// layer without writes.
func (l Layer) IsEmpty() bool { return l.b == nil || l.b.writes.count == 0 }

// Get returns the value of a key in the layer and its state: Untouched if the layer has no write of it. The value
// aliases the buffer.
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

// version returns the newest value of an entry that the layer includes, and false if all its versions are newer
// than the layer.
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

// Over returns an iterator over base, an iterator of the snapshot, with the layer's writes merged into it (see
// Merge).
func (l Layer) Over(base storage.Iterator, r storage.Range, reverse bool) storage.Iterator {
	if l.IsEmpty() {
		return Guard(base)
	}
	return Guard(Merge(base, l, r, reverse))
}
