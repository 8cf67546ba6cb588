package wreck

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Bounds of a search for blocks without an index.
const (
	searchFileMax  = 1 << 30  // a larger file is read as far as this
	searchBlockMax = 24 << 20 // the largest block that is looked for where one is expected
	searchSkipMax  = 24 << 10 // and where the one before is damaged, and how far behind: blocks have 8 KiB, unless a document is larger
)

// findBlocks finds the data blocks of a table whose index is lost. They stand at the
// beginning of the file, one behind the other, each followed by its checksum: so a block
// that begins at a known place ends where the checksum fits.
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
			t.broken = append(t.broken, lost{keysBetween(last, first), t.maxSeq})
		}
		t.blocks = append(t.blocks, span{at: int64(at), size: int64(size), after: last, upTo: slices.Clone(end)})
		last = slices.Clone(end)
		return true
	}
	for at := 0; at < len(data); {
		size := blockAt(data[at:], searchBlockMax)
		if size >= 0 && !take(at, size, false) {
			break // a whole block of another kind: the data blocks are over
		}
		if size < 0 {
			places := blocksWithin(data[at+1:], searchSkipMax, searchSkipMax)
			next := slices.IndexFunc(places, func(p place) bool { return take(at+1+p.at, p.size, true) })
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
		t.broken = append(t.broken, lost{rest, t.maxSeq})
	}
}

// blockAt returns the length of the block at the beginning of data, without its trailer,
// -1 if there is none. It goes on byte by byte, where a call of crc32.Update for each costs
// twenty times as much.
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
