package filescan

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// The checksum of blocks (CRC-32C) is computed in a register that each byte b advances: r = castagnoli[byte(r)^b]
// ^ r>>8. For zero bytes this is a linear map, and it can be inverted, so that checksums of all parts of a file
// can be compared without computing each.

// forth advances the register of a checksum by a zero byte; back is its inverse.
func forth(r uint32) uint32 { return castagnoli[byte(r)] ^ r>>8 }

func back(r uint32) uint32 {
	b := lastOf[r>>24]
	return (r^castagnoli[b])<<8 | uint32(b)
}

// lastOf maps the highest byte of a checksum register to the byte that was shifted out to reach this register, for
// back.
var lastOf = func() (b [256]byte) {
	for i, r := range castagnoli {
		b[r>>24] = byte(i)
	}
	return b
}()

// origin is a linear map of checksum registers (CRC-32C) back over all bytes passed so far, as if they were zero,
// to the first of them. Registers of different positions in the file can be compared there.
type origin [32]uint32 // per bit

func newOrigin() (o origin) {
	for i := range o {
		o[i] = 1 << i
	}
	return o
}

// pass extends the map by one more byte.
func (o *origin) pass() {
	for i := range o {
		o[i] = back(o[i])
	}
}

func (o *origin) of(r uint32) (at uint32) {
	for i := range o {
		at ^= o[i] & -(r >> i & 1)
	}
	return at
}

// possibleBlock is the offset and length, in bytes, of what may be a block of a table, because its checksum
// matches.
type possibleBlock struct{ at, size int }

// blocksWithin finds all possible blocks of a damaged table that begin in the first starts bytes of data and are
// shorter than limit, sorted by start and size. It reads each byte once: the checksum from i to j matches if the
// checksum of all bytes before j, the stored checksum after j, and the checksum of all bytes before i agree at the
// origin.
func blocksWithin(data []byte, starts, limit int) (found []possibleBlock) {
	o := newOrigin()
	sum := uint32(0) // the checksum of all bytes before k, mapped to the origin
	begun := map[uint32][]int{}
	for k := range max(min(len(data)-block.TrailerLen, starts+limit), 0) {
		if k < starts {
			at := sum ^ o.of(^uint32(0))
			begun[at] = append(begun[at], k)
		}
		sum ^= o.of(uint32(data[k]))
		o.pass()
		for _, i := range begun[sum^o.of(^unmask(binary.LittleEndian.Uint32(data[k+1:])))] {
			if size := k - i; size > 0 && size < limit {
				found = append(found, possibleBlock{i, size})
			}
		}
	}
	slices.SortFunc(found, func(a, b possibleBlock) int { return cmp.Or(a.at-b.at, a.size-b.size) })
	return found
}
