package rewind

import (
	"errors"
	"sync/atomic"

	"github.com/cantledb/cantle/ratelimit"
)

// LayerBytesMax bounds the difference of one collection from its newest state.
const LayerBytesMax = 128 << 20

// ErrTooMuch is the error of a read in the past for which a layer would exceed LayerBytesMax, or the memory limit of
// the server's commands.
var ErrTooMuch = errors.New("rewind: too much was written since")

// entryBytes is the memory in bytes that is counted for a document found in the log, or for a key of a layer, in
// addition to the bytes of key and value.
const entryBytes = 96

// stepBytes is the granularity in which a holding takes memory.
const stepBytes = 256 << 10

// holding is the memory that the layers of one State have taken from the memory limit of all commands. One goroutine
// at a time makes it grow.
type holding struct {
	of    *ratelimit.Memory
	bytes atomic.Int64 // taken
}

// cover takes memory until n bytes are taken. Errors: ErrTooMuch.
func (h *holding) cover(n int64) error {
	more := n - h.bytes.Load()
	if more <= 0 {
		return nil
	}
	more = (more + stepBytes - 1) / stepBytes * stepBytes
	if !h.of.Take(more) {
		return ErrTooMuch
	}
	h.bytes.Add(more)
	return nil
}

// shrink gives back all except n bytes.
func (h *holding) shrink(n int64) {
	if less := h.bytes.Load() - n; less > 0 {
		h.bytes.Add(-less)
		h.of.Give(less)
	}
}
