package filescan

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Bounds, in bytes, of the search for the blocks of a table whose index is lost.
const (
	searchFileMax  = 1 << 30  // of a larger file only the first part is searched
	searchBlockMax = 24 << 20 // the largest block that is found where the block before ends
	// searchSkipMax is the size of the largest block that is found after a damaged one, and the maximum distance
	// of its start. Blocks have 8 KiB, unless a document is larger.
	searchSkipMax = 24 << 10
)

// findBlocks finds the data blocks of a table whose index is lost. They lie at the start of the file, one after
// the other, each followed by its checksum. So a block with a known start ends where the checksum of its bytes
// matches. After a damaged block, it searches for the start of the next.
func (t *table) findBlocks(file vfs.File) {
	data, err := io.ReadAll(io.NewSectionReader(file, 0, min(t.have, searchFileMax)))
	if err != nil {
		return
	}
	var last []byte
	take := func(at, size int, gap bool) (ok bool) {
		var first, end []byte
		if decodeBlock(data[at:at+size+block.TrailerLen], func(key, _ []byte, _ uint64, _ pebble.InternalKeyKind) {
			if first == nil {
				first = slices.Clone(key)
			}
			end = append(end[:0], key...)
		}) != nil || first == nil || bytes.Compare(first, last) < 0 {
			return false
		}
		if gap {
			t.broken = append(t.broken, lostRange{keysBetween(last, first), t.maxSeq})
		}
		t.blocks = append(t.blocks, dataBlock{at: int64(at), size: int64(size), after: last, upTo: slices.Clone(end)})
		last = slices.Clone(end)
		return true
	}
	for at := 0; at < len(data); {
		size := blockAt(data[at:], searchBlockMax)
		if size >= 0 && !take(at, size, false) {
			break // an intact block of another kind: the data blocks end here
		}
		if size < 0 {
			places := blocksWithin(data[at+1:], searchSkipMax, searchSkipMax)
			next := slices.IndexFunc(places, func(p possibleBlock) bool { return take(at+1+p.at, p.size, true) })
			if next < 0 {
				break
			}
			at, size = at+1+places[next].at, places[next].size
		}
		at += size + block.TrailerLen
	}
	rest := t.keys()
	rest.Start = after(last)
	if last == nil {
		rest = t.keys()
	}
	if t.largest == nil || !bytes.Equal(last, t.largest) {
		t.broken = append(t.broken, lostRange{rest, t.maxSeq})
	}
}

// blockAt returns the length of the block at the start of data, without its trailer, -1 if no length from 1 to
// below limit has a matching checksum. It computes the checksum byte by byte itself; a call of crc32.Update for
// each byte is twenty times as slow.
func blockAt(data []byte, limit int) int {
	register := ^uint32(0)
	n := min(len(data)-block.TrailerLen, limit)
	for size := range max(n, 0) {
		register = forth(register ^ uint32(data[size]))
		if mask(^register) == binary.LittleEndian.Uint32(data[size+1:]) && size > 0 {
			return size
		}
	}
	return -1
}
