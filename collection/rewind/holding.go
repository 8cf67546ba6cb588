package rewind

import (
	"errors"
	"sync/atomic"

	"github.com/cantledb/cantle/ratelimit"
)

// LayerBytesMax bounds what one collection may differ from its newest state.
const LayerBytesMax = 128 << 20

// ErrTooMuch: a layer would exceed LayerBytesMax, or what the server's commands may
// hold together.
var ErrTooMuch = errors.New("rewind: too much was written since")

// entryBytes is what an entry of a map or a layer costs beside key and value.
const entryBytes = 96

// stepBytes is how much a holding takes at a time.
const stepBytes = 256 << 10

// holding is what a state holds of a memory that all share. Grown by one goroutine at
// a time.
type holding struct {
	of    *ratelimit.Memory
	bytes atomic.Int64 // taken
}

// cover sees to it that n bytes are taken. Errors: ErrTooMuch.
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

// shrink gives back all but n bytes.
func (h *holding) shrink(n int64) {
	if less := h.bytes.Load() - n; less > 0 {
		h.bytes.Add(-less)
		h.of.Give(less)
	}
}
