package tikvkv

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/cantledb/cantle/storage"
)

// A stored value is one byte followed by the value. A large value is stored in chunks with
// keys of their own; then the stored value holds the number of chunks and the size in
// bytes.
const (
	valuePlain   = 0
	valueChunked = 1
)

// chunkBytes is the size of a chunk, and the size above which a value is cut into chunks.
// TiKV refuses entries of 8 MiB in its Raft log, and one entry may hold several keys.
const chunkBytes = 4 << 20

// chunksAtOnce is the number of chunks that are fetched together.
const chunksAtOnce = 4

// chunkedHead returns the stored value of a key whose value lies in chunks.
func chunkedHead(chunks uint32, size int) []byte {
	head := binary.BigEndian.AppendUint32([]byte{valueChunked}, chunks)
	return binary.BigEndian.AppendUint64(head, uint64(size))
}

// chunksOf returns the number of chunks of a stored value, 0 if it is not cut into chunks.
func chunksOf(stored []byte) uint32 {
	if len(stored) == 13 && stored[0] == valueChunked {
		return binary.BigEndian.Uint32(stored[1:])
	}
	return 0
}

// value appends the value of a key to dst and returns the result. stored is the stored value at the view's timestamp:
// the value itself, or the number and the size of its chunks, which value then fetches. Errors: ErrCorruption if
// stored is neither, or the chunks do not have that size; errors of reads.
func (v *view) value(ctx context.Context, key, stored, dst []byte) ([]byte, error) {
	if len(stored) > 1 && stored[0] == valuePlain {
		return append(dst, stored[1:]...), nil
	}
	chunks := chunksOf(stored)
	if chunks == 0 {
		return dst, fmt.Errorf("%w: the value of key %x", storage.ErrCorruption, key)
	}
	v.noteChunks(key, chunks)
	begin := len(dst)
	for n := uint32(0); n < chunks; n += chunksAtOnce {
		var keys [][]byte
		for i := n; i < min(chunks, n+chunksAtOnce); i++ {
			keys = append(keys, v.rows.keys.chunk(key, i))
		}
		got, err := v.rows.batch(ctx, v.ts, keys)
		if err != nil {
			return dst[:begin], err
		}
		for _, k := range keys {
			dst = append(dst, got[string(k)].Value...)
		}
	}
	if size := binary.BigEndian.Uint64(stored[5:]); uint64(len(dst)-begin) != size {
		return dst[:begin], fmt.Errorf("%w: the value of key %x has %d bytes, not %d", storage.ErrCorruption, key, len(dst)-begin, size)
	}
	return dst, nil
}
