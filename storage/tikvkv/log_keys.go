package tikvkv

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/writebuf"
)

// The log records that a commit appends to one stream are stored as one value under the commit's
// place:
//
//	key     'l' ‖ len(2) ‖ stream ‖ class(1) ‖ bucket(1) ‖ place(8) ‖ writer(4) ‖ seq(4) ‖ part(2)
//	value   uvarint: number of records of the commit, in all streams
//	        uvarint: number of parts
//	        for each record of the stream: uvarint: its number within the commit, uvarint: len, record
//
// A large value is cut into parts; only the first part has the two numbers at the beginning. Buckets spread the end
// of the log over several regions, so that no region is hot.
const (
	buckets   = 4
	partBytes = chunkBytes
	tailBytes = 8 + 4 + 4 + 2 // length of a key from its place on
)

// Classes of commits by the length of their window: 5 seconds for small commits, 60 for large ones.
const (
	classSmall = 0
	classLarge = 1
	classes    = 2
)

// A commit with more than largeBytes bytes or largeKeys keys is of the large class, because it may take longer than
// the window of small commits.
const (
	largeBytes = 1 << 20
	largeKeys  = 1000
)

// keyValue is a log value with its key.
type keyValue struct{ key, body []byte }

// bucketPrefix returns the prefix of the keys of one class and bucket of a stream.
func (l layout) bucketPrefix(stream []byte, class, bucket byte) []byte {
	return append(l.stream(stream), class, bucket)
}

// placeOf returns the place in a log key, and the number of the part that the key holds.
func placeOf(key []byte) (place uint64, part uint16) {
	tail := key[len(key)-tailBytes:]
	return binary.BigEndian.Uint64(tail), binary.BigEndian.Uint16(tail[16:])
}

// values builds the log values of a commit with their keys: for each stream one value with the records of that
// stream, cut into parts of at most 4 MiB. place is the PD timestamp under which they are stored.
func (l *changeLog) values(records []writebuf.LogRecord, place uint64, class byte) (out []keyValue) {
	seq := l.seq.Add(1)
	bucket := byte(seq % buckets)
	for i := range records {
		stream := records[i].Stream
		if streamSeen(records[:i], stream) {
			continue
		}
		var body []byte
		for n := i; n < len(records); n++ {
			if bytes.Equal(records[n].Stream, stream) {
				body = binary.AppendUvarint(body, uint64(n))
				body = binary.AppendUvarint(body, uint64(len(records[n].Rec)))
				body = append(body, records[n].Rec...)
			}
		}
		key := binary.BigEndian.AppendUint64(l.keys.bucketPrefix(stream, class, bucket), place)
		key = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(key, l.writerID), seq)
		parts := max(1, (len(body)+partBytes-1)/partBytes)
		for part := range parts {
			head := []byte(nil)
			if part == 0 {
				head = binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(records))), uint64(parts))
			}
			n := min(partBytes, len(body))
			out = append(out, keyValue{partKey(key, uint16(part)), append(head, body[:n]...)})
			body = body[n:]
		}
	}
	return out
}

// streamSeen reports whether one of the records is of the stream.
func streamSeen(records []writebuf.LogRecord, stream []byte) bool {
	for i := range records {
		if bytes.Equal(records[i].Stream, stream) {
			return true
		}
	}
	return false
}

// partKey returns the key of a part of the value; key is the log key without its part.
func partKey(key []byte, part uint16) []byte {
	return binary.BigEndian.AppendUint16(key[:len(key):len(key)], part)
}

// eachRecord decodes a log value, which has the records of one commit in one stream, and passes each record to yield;
// after is the number of records of the commit, in all streams, that follow it. If yield returns false, eachRecord
// stops and returns false.
func eachRecord(body []byte, yield func(after uint64, rec []byte) bool) (more bool, err error) {
	total, body, err := cutUvarint(body)
	if err == nil {
		_, body, err = cutUvarint(body) // parts
	}
	for err == nil && len(body) > 0 {
		var n, size uint64
		if n, body, err = cutUvarint(body); err != nil {
			break
		}
		if size, body, err = cutUvarint(body); err != nil {
			break
		}
		if size > uint64(len(body)) || n >= total {
			return false, fmt.Errorf("%w: a log record", storage.ErrCorruption)
		}
		if !yield(total-1-n, body[:size]) {
			return false, nil
		}
		body = body[size:]
	}
	return true, err
}

// partsOf returns the number of parts of a value, from its first part.
func partsOf(body []byte) (uint64, error) {
	_, body, err := cutUvarint(body)
	if err != nil {
		return 0, err
	}
	parts, _, err := cutUvarint(body)
	return parts, err
}

// cutUvarint decodes a number at the start of b, and returns the rest.
func cutUvarint(b []byte) (uint64, []byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, fmt.Errorf("%w: a log record", storage.ErrCorruption)
	}
	return n, b[size:], nil
}
