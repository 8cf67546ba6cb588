package pebblekv

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// sampleEvery: of the keys that are written, one in so many is kept in memory until it is flushed, chosen at random. At
// four memtables of 32 MiB these are at most a few megabytes.
const sampleEvery = 32

// unflushed is a random sample of the keys in memtables. Pebble counts the entries of tables, not of memtables, so a
// division of a range needs the sample. Safe for concurrent use.
type unflushed struct {
	mu      sync.Mutex
	samples []unflushedKey // in order of their sequence numbers
	skip    int            // writes before the next sample
	flushed uint64         // sequence number up to which all writes are flushed
	last    uint64         // sequence number of the last write since the store was opened; 0 = there was none
	unknown uint64         // later writes, in batches so large that Pebble does not return their sequence numbers
}

// unknownSeq is the sequence number of samples of a large batch, until the next commit shows it.
const unknownSeq = math.MaxUint64

// unflushedKey is a sampled key, with the last sequence number of its commit.
type unflushedKey struct {
	key []byte
	seq uint64
}

// add samples the keys that a commit has set, before the commit becomes visible. first is the sequence number of its
// first write, or 0 if Pebble does not return it, and count the number of writes.
func (u *unflushed) add(b *writebuf.Buffer, first uint64, count uint32) {
	if count == 0 {
		return // nothing but a note in the log
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	seq := uint64(unknownSeq)
	if first > 0 {
		for i := len(u.samples) - 1; i >= 0 && u.samples[i].seq == unknownSeq; i-- {
			u.samples[i].seq = first - 1
		}
		if u.last == 0 && u.unknown == 0 {
			u.flushed = first - 1
		}
		seq = first + uint64(count) - 1
		u.last, u.unknown = seq, 0
	} else {
		u.unknown += uint64(count)
	}
	if b.Len() <= u.skip {
		u.skip -= b.Len()
		return
	}
	for key, value := range b.All() {
		if u.skip > 0 {
			u.skip--
			continue
		}
		u.skip = nextSample()
		if value != nil {
			u.samples = append(u.samples, unflushedKey{bytes.Clone(key), seq})
		}
	}
}

// nextSample returns the number of writes before the next sample, such that each write is sampled with the same
// probability, independently of others.
func nextSample() int {
	return int(math.Log(1-rand.Float64()) / math.Log(1-1./sampleEvery))
}

// drop removes the keys that a flush has written to tables. Memtables are flushed in the order of sequence numbers.
func (u *unflushed) drop(f pebble.FlushInfo) {
	flushed := uint64(0)
	for i := range f.Output {
		flushed = max(flushed, uint64(f.Output[i].LargestSeqNum))
	}
	if f.Err != nil || flushed == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.flushed = max(u.flushed, flushed)
	n, _ := slices.BinarySearchFunc(u.samples, flushed+1, func(k unflushedKey, seq uint64) int {
		if k.seq < seq {
			return -1
		}
		return 1
	})
	u.samples = slices.Clone(u.samples[n:])
}

// within returns the sampled keys of a range, sorted, and an upper bound of the number of unflushed writes to the store.
func (u *unflushed) within(r storage.Range) (keys [][]byte, all uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, k := range u.samples {
		if r.Contains(k.key) {
			keys = append(keys, k.key)
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	if u.last == 0 {
		return keys, math.MaxUint64
	}
	return keys, u.last - min(u.last, u.flushed) + u.unknown
}

// unflushedBound returns an upper bound of the number of keys of which a number of keys was sampled. By Chernoff's
// bound more keys have so few samples with a probability of less than e⁻¹⁴, one in a million.
func unflushedBound(sampled int) uint64 {
	const l = 14
	p := float64(sampled)
	return uint64(math.Ceil(sampleEvery * (p + l + math.Sqrt(l*l+2*l*p))))
}
