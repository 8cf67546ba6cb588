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
	searchSkipMax  = 24 << 10 // and where the one before is damaged, at each byte: blocks have 8 KiB, unless a document is larger
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
	gap := false
	for at, skipped := 0, 0; at < len(data); {
		limit := searchBlockMax
		if skipped > 0 {
			limit = searchSkipMax
		}
		size := blockAt(data[at:], limit)
		var first, end []byte
		ok := size >= 0 && decodeBlock(data[at:at+size+block.TrailerLen], func(key, _ []byte, _ uint64, _ pebble.InternalKeyKind) {
			if first == nil {
				first = slices.Clone(key)
			}
			end = append(end[:0], key...)
		}) == nil
		switch {
		case ok && first != nil && bytes.Compare(first, last) >= 0:
			if gap {
				t.broken = append(t.broken, lost{keysBetween(last, first), t.maxSeq})
			}
			t.blocks = append(t.blocks, span{at: int64(at), size: int64(size), after: last, upTo: slices.Clone(end)})
			last, gap, skipped = slices.Clone(end), false, 0
			at += size + block.TrailerLen
		case size >= 0 && skipped == 0:
			at = len(data) // a whole block of another kind: the data blocks are over
		default:
			gap = true
			skipped++
			at++
			if skipped > searchSkipMax {
				at = len(data)
			}
		}
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
// twenty times as much: this is the inner loop of a search at each byte.
func blockAt(data []byte, limit int) int {
	register := ^uint32(0)
	n := min(len(data)-block.TrailerLen, limit)
	for size := range max(n, 0) {
		register = castagnoli[byte(register)^data[size]] ^ register>>8
		if mask(^register) == binary.LittleEndian.Uint32(data[size+1:]) && size > 0 {
			return size
		}
	}
	return -1
}
