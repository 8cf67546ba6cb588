package filescan

import (
	"encoding/binary"
	"hash/crc32"
)

// Logs and manifests consist of records that are cut into chunks, none of which crosses
// a block:
//
//	crc 4 ‖ length 2 ‖ kind 1 [‖ log number 4 [‖ synced offset 8]] ‖ payload
//
// kind encodes which of the three headers the chunk has, and whether the chunk is a whole record or its first,
// middle or last part. The checksum (crc) covers the bytes from kind on.
const (
	chunkBlock    = 32 << 10
	headerPlain   = 7  // manifests
	headerLog     = 11 // logs: their files are reused, and the log's number identifies chunks of an earlier use
	headerSynced  = 19 // logs, with the offset up to which the file was synced when the chunk was written
	kindFull      = 1
	kindFirst     = 2
	kindMiddle    = 3
	kindLast      = 4
	kindsPerShape = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedSum returns the CRC-32C of bytes as Pebble stores it in files: masked, by a rotation and an addition.
func maskedSum(b []byte) uint32 { return mask(crc32.Checksum(b, castagnoli)) }

const maskDelta = 0xa282ead8

func mask(c uint32) uint32   { return (c>>15 | c<<17) + maskDelta }
func unmask(m uint32) uint32 { return (m-maskDelta)>>17 | (m-maskDelta)<<15 }

// chunk is one intact chunk.
type chunk struct {
	at, end int // in the file; the next chunk begins at end
	part    int // kindFull, kindFirst, kindMiddle or kindLast
	synced  uint64
	data    []byte
}

// chunks parses the chunks of one file.
type chunks struct {
	data   []byte
	number uint32 // the number of the log; 0 = the file is a manifest
}

// verdict is the result of parsing a chunk.
type verdict uint8

const (
	chunkGood verdict = iota
	chunkBad          // not a chunk of this file
	chunkEnd          // the file was closed here
)

// header returns the length in bytes of the smallest header of a chunk in this file.
func (c *chunks) header() int {
	if c.number == 0 {
		return headerPlain
	}
	return headerLog
}

// next returns the offset of the next chunk at or after at: it skips unused bytes at the end of a 32 KiB block.
func (c *chunks) next(at int) int {
	left := chunkBlock - at%chunkBlock
	if left >= headerSynced {
		return at
	}
	free := at+left <= len(c.data)
	for _, b := range c.data[min(at, len(c.data)):min(at+left, len(c.data))] {
		free = free && b == 0
	}
	if left < c.header() || free {
		return at + left
	}
	return at
}

// parse parses the chunk at the offset at of the file, and checks its checksum.
func (c *chunks) parse(at int) (k chunk, v verdict) {
	if at >= len(c.data) {
		return k, chunkEnd
	}
	blockEnd := min(at-at%chunkBlock+chunkBlock, len(c.data))
	if at+c.header() > blockEnd {
		return k, chunkBad
	}
	b := c.data[at:blockEnd]
	kind, size := int(b[6]), headerPlain
	switch {
	case c.number == 0 && kind >= kindFull && kind <= kindLast:
	case c.number != 0 && kind > kindsPerShape && kind <= 2*kindsPerShape:
		size = headerLog
	case c.number != 0 && kind > 2*kindsPerShape && kind <= 3*kindsPerShape:
		size = headerSynced
	default:
		return k, chunkBad
	}
	length := int(binary.LittleEndian.Uint16(b[4:]))
	if size+length > len(b) {
		return k, chunkBad
	}
	if size > headerPlain {
		if n := binary.LittleEndian.Uint32(b[7:]); n != c.number {
			if n == c.number+1 && length == 0 && binary.LittleEndian.Uint32(b) == 0 {
				return k, chunkEnd
			}
			return k, chunkBad
		}
	}
	if binary.LittleEndian.Uint32(b) != maskedSum(b[6:size+length]) {
		return k, chunkBad
	}
	k = chunk{at: at, end: at + size + length, part: (kind-1)%kindsPerShape + 1, data: b[size : size+length]}
	if size == headerSynced {
		k.synced = binary.LittleEndian.Uint64(b[11:])
	}
	return k, chunkGood
}

// resume returns the offset of the next intact chunk after the offset bad, in the same block or later ones, -1 if
// there is none.
func (c *chunks) resume(bad int) int {
	blockEnd := min(bad-bad%chunkBlock+chunkBlock, len(c.data))
	for at := bad + 1; at < blockEnd; at++ {
		if _, v := c.parse(at); v == chunkGood {
			return at
		}
	}
	for start := blockEnd; start < len(c.data); start += chunkBlock {
		if _, v := c.parse(start); v == chunkGood {
			return start
		}
		// The damage may reach into this block, so its other offsets are tried too.
		for at := start + 1; at < min(start+chunkBlock, len(c.data)); at++ {
			if _, v := c.parse(at); v == chunkGood {
				return at
			}
		}
	}
	return -1
}

// hole is a part of a log or a manifest that could not be read.
type hole struct {
	from, to int // offsets in bytes; to is the offset of the next intact chunk, or the length of the file
	// synced is true if a later chunk records that this part had been synced: then a
	// crash cannot be the cause.
	synced bool
}

// framing is the result of reading all records of a log or a manifest: the length of its intact start, and the
// holes after it.
type framing struct {
	end   int // offset of the end of the last record before the first hole
	holes []hole
}

// records calls visit with each intact record of the file and its offset; rec is valid during the call. resumed is
// true if there is a hole anywhere before the record.
func (c *chunks) records(visit func(rec []byte, at int, resumed bool)) (f framing) {
	var rec []byte
	open, begun := false, 0
	for at := 0; ; {
		at = c.next(at)
		k, v := c.parse(at)
		if v == chunkEnd {
			if open { // the last record is incomplete
				f.holes = append(f.holes, hole{from: begun, to: len(c.data)})
			}
			return f
		}
		if v == chunkBad {
			from := at
			if open {
				from = begun
			}
			to := c.resume(at)
			if to < 0 {
				f.holes = append(f.holes, hole{from: from, to: len(c.data)})
				return f
			}
			f.holes = append(f.holes, hole{from: from, to: to})
			at, open = to, false
			continue
		}
		for i := range f.holes {
			f.holes[i].synced = f.holes[i].synced || k.synced > uint64(f.holes[i].from)
		}
		at = k.end
		switch k.part {
		case kindFull, kindFirst:
			rec, open, begun = append(rec[:0], k.data...), true, k.at
		default:
			if !open {
				continue // the rest of a record whose beginning is lost
			}
			rec = append(rec, k.data...)
		}
		if k.part == kindFull || k.part == kindLast {
			open = false
			if len(f.holes) == 0 {
				f.end = at
			}
			visit(rec, begun, len(f.holes) > 0)
		}
	}
}
