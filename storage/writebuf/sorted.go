package writebuf

import (
	"bytes"
	"slices"
)

// blockMax is the number of entries at which a block of sortedEntries is split. An insertion moves 3 KiB on
// average, which takes about 50 ns.
const blockMax = 128

// entry is one written key of a buffer with its newest value; a nil value is a deletion.
type entry struct {
	key, value []byte
	older      *version // older values, for readers of snapshots of the buffer; the newest first
	epoch      uint32   // of the buffer when value was written
}

// sortedEntries holds the entries of a buffer in key order, in a row of short, non-empty blocks, so that an
// insertion moves few entries.
type sortedEntries struct {
	blocks [][]entry
	spare  [][]entry // empty blocks of earlier use
	count  int
	moves  uint64 // number of insertions and removals, each of which changes the positions of other entries
}

// entryPos is the position of an entry: its block, and its index there. (len(blocks), 0) is the position after the
// last entry.
type entryPos struct{ block, at int }

// find returns the position of the entry with a key and true, or else the position of the next greater key and
// false.
func (s *sortedEntries) find(key []byte) (p entryPos, ok bool) {
	// Only the last block whose first key is <= key can hold the key.
	lo, hi := 0, len(s.blocks)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if bytes.Compare(s.blocks[mid][0].key, key) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return entryPos{}, false
	}
	p.block = lo - 1
	b := s.blocks[p.block]
	l, h := 0, len(b)
	for l < h {
		mid := int(uint(l+h) >> 1)
		if c := bytes.Compare(b[mid].key, key); c == 0 {
			return entryPos{p.block, mid}, true
		} else if c < 0 {
			l = mid + 1
		} else {
			h = mid
		}
	}
	p.at = l
	if l == len(b) {
		p = entryPos{p.block + 1, 0}
	}
	return p, false
}

func (s *sortedEntries) entry(p entryPos) *entry { return &s.blocks[p.block][p.at] }

// insert inserts the entry e at the position p that find has returned for its key.
func (s *sortedEntries) insert(p entryPos, e entry) {
	s.count++
	s.moves++
	if p.at == 0 && p.block > 0 {
		p = entryPos{p.block - 1, len(s.blocks[p.block-1])} // append to the previous block
	}
	if len(s.blocks) == 0 {
		s.blocks = append(s.blocks, append(s.block(8), e))
		return
	}
	b := s.blocks[p.block]
	if len(b) < blockMax {
		s.blocks[p.block] = slices.Insert(b, p.at, e)
		return
	}
	if p.block == len(s.blocks)-1 && p.at == len(b) { // ascending load: leave full blocks
		s.blocks = append(s.blocks, append(s.block(blockMax), e))
		return
	}
	half := blockMax / 2
	right := append(s.block(blockMax), b[half:]...)
	clear(b[half:])
	s.blocks[p.block] = b[:half]
	s.blocks = slices.Insert(s.blocks, p.block+1, right)
	if p.at > half {
		s.blocks[p.block+1] = slices.Insert(right, p.at-half, e)
	} else {
		s.blocks[p.block] = slices.Insert(b[:half], p.at, e)
	}
}

// block returns an empty block of entries: a spare one, or a new one with room as its capacity.
func (s *sortedEntries) block(room int) []entry {
	if n := len(s.spare); n > 0 {
		b := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return b
	}
	return make([]entry, 0, room)
}

// remove removes the entry at p.
func (s *sortedEntries) remove(p entryPos) {
	s.count--
	s.moves++
	b := slices.Delete(s.blocks[p.block], p.at, p.at+1)
	s.blocks[p.block] = b
	if len(b) == 0 {
		s.blocks = slices.Delete(s.blocks, p.block, p.block+1)
	}
}

// next and prev return the position of the next or previous entry; prev of the first position has block -1.
func (s *sortedEntries) next(p entryPos) entryPos {
	if p.at+1 < len(s.blocks[p.block]) {
		return entryPos{p.block, p.at + 1}
	}
	return entryPos{p.block + 1, 0}
}

func (s *sortedEntries) prev(p entryPos) entryPos {
	if p.at > 0 {
		return entryPos{p.block, p.at - 1}
	}
	if p.block == 0 {
		return entryPos{-1, 0}
	}
	return entryPos{p.block - 1, len(s.blocks[p.block-1]) - 1}
}

func (s *sortedEntries) valid(p entryPos) bool { return p.block >= 0 && p.block < len(s.blocks) }

// reset empties s and keeps some blocks.
func (s *sortedEntries) reset() {
	s.count = 0
	s.moves++
	for _, b := range s.blocks {
		clear(b)
		if len(s.spare) < keepBlocks {
			s.spare = append(s.spare, b[:0])
		}
	}
	clear(s.blocks)
	s.blocks = s.blocks[:0]
	if cap(s.blocks) > 4*keepBlocks {
		s.blocks = nil
	}
}
