package wire

import (
	"math/bits"
	"sync"

	"github.com/cantledb/cantle/ratelimit"
)

// smallBytesMax is the maximum size of a message or a reply that is not counted in the memory for large ones
// (Pool.Messages and Pool.Replies).
const smallBytesMax = 64 << 10

// Size classes of the pool: powers of two from 2^classMin to 2^classMax bytes.
const (
	classMin = 14
	classMax = 27
)

// Pool holds the memory and the compressors shared by the connections of one server. The
// zero Pool is ready; it must not be copied. Safe for concurrent use.
type Pool struct {
	// Messages limits the memory of large incoming messages, Replies that of large replies;
	// nil means no limit. They must be set before the first use.
	Messages, Replies *ratelimit.Memory

	largeMessages largeMessages
	frames        [classMax - classMin + 1]sync.Pool
	codecs        codecs
}

// Frame is the memory of one message.
type Frame struct{ buf []byte }

// get returns a frame from the pool whose buffer has a capacity of at least n bytes; nil if the pool has none.
func (p *Pool) get(n int) *Frame {
	c := max(bits.Len(uint(n-1)), classMin)
	if c > classMax {
		return nil
	}
	f, _ := p.frames[c-classMin].Get().(*Frame)
	return f
}

// take returns a frame whose buffer has a capacity of at least n bytes: one from the pool, or a new one.
func (p *Pool) take(n int) *Frame {
	if f := p.get(n); f != nil {
		return f
	}
	return &Frame{buf: make([]byte, room(n))}
}

// put returns a frame to the pool. A frame that is smaller or larger than the size classes is left to the garbage
// collector.
func (p *Pool) put(f *Frame) {
	if f == nil {
		return
	}
	if invariants {
		poison(f.buf)
	}
	c := bits.Len(uint(cap(f.buf))) - 1
	if c < classMin || c > classMax {
		return
	}
	p.frames[c-classMin].Put(f)
}

// room returns the smallest size class that is at least n bytes, so that a new buffer can go back to the pool later.
func room(n int) int {
	return 1 << max(bits.Len(uint(n-1)), classMin)
}

// poison overwrites released memory, so that a test fails if the memory is used after its release.
func poison(b []byte) {
	b = b[:cap(b)]
	if len(b) == 0 {
		return
	}
	b[0] = 0xdb
	for n := 1; n < len(b); n *= 2 { // faster than byte by byte: tests spend much time here
		copy(b[n:], b[:n])
	}
}
