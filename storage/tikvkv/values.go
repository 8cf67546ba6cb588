package tikvkv

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/cantledb/cantle/storage"
)

// A value is one byte and the bytes themselves; or, if it is large, how many chunks it has
// and how many bytes in all, and the chunks are keys of their own.
const (
	valuePlain   = 0
	valueChunked = 1
)

// chunkBytes is the size of a chunk: TiKV refuses entries of its Raft log of 8 MiB, and one
// entry may hold several keys. It is also where values begin to be cut.
const chunkBytes = 4 << 20

// chunksAtOnce is how many chunks are fetched together.
const chunksAtOnce = 4

// chunkedHead is the value of a key whose value lies in chunks.
func chunkedHead(chunks uint32, size int) []byte {
	head := binary.BigEndian.AppendUint32([]byte{valueChunked}, chunks)
	return binary.BigEndian.AppendUint64(head, uint64(size))
}

// chunksOf is how many chunks a stored value has, 0 if it is all there.
func chunksOf(stored []byte) uint32 {
	if len(stored) == 13 && stored[0] == valueChunked {
		return binary.BigEndian.Uint32(stored[1:])
	}
	return 0
}

// value appends the value of a key that is stored like this at the time of the view.
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
			keys = append(keys, v.s.keys.chunk(key, i))
		}
		got, err := v.s.batch(ctx, v.ts, keys)
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
