package wreck

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// A checksum is a register that each byte moves on: r = castagnoli[byte(r)^b] ^ r>>8. Without
// bytes that differ from zero this is a linear map, and it can be undone.

// forth moves a register on by a zero byte, back undoes that.
func forth(r uint32) uint32 { return castagnoli[byte(r)] ^ r>>8 }

func back(r uint32) uint32 {
	b := lastOf[r>>24]
	return (r^castagnoli[b])<<8 | uint32(b)
}

// lastOf tells by the first byte of a register which byte was moved out of it.
var lastOf = func() (b [256]byte) {
	for i, r := range castagnoli {
		b[r>>24] = byte(i)
	}
	return b
}()

// origin takes registers back over all zero bytes that were passed, to where they would have
// been at the first of them. All of them can be compared there.
type origin [32]uint32 // of each bit

func newOrigin() (o origin) {
	for i := range o {
		o[i] = 1 << i
	}
	return o
}

// pass goes on by a byte.
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

// place is where a block seems to be: its checksum fits.
type place struct{ at, size int }

// blocksWithin finds what begins in the first starts bytes of data, is no longer than limit and
// looks like a block with its checksum behind it; sorted by beginning and size. It looks at
// each byte once: the checksum from i to j fits when that of all before j, what stands behind
// j, and that of all before i agree at the origin.
func blocksWithin(data []byte, starts, limit int) (found []place) {
	o := newOrigin()
	sum := uint32(0) // at the origin, of all bytes before k
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
				found = append(found, place{i, size})
			}
		}
	}
	slices.SortFunc(found, func(a, b place) int { return cmp.Or(a.at-b.at, a.size-b.size) })
	return found
}
