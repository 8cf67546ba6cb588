package wire

import (
	"io"
	"syscall"
)

// pieceBytes is how much is read from a connection at once: a request of usual size comes
// with one system call. Measured best for request/reply traffic.
const pieceBytes = 16 << 10

// incoming is what has come from a connection and is not used yet. Where the system can
// tell that something has come it has memory only then, so that a connection that waits
// for its client costs none. Not safe for concurrent use.
type incoming struct {
	from io.Reader
	pool *Pool

	frame *Frame // of pieceBytes, from the pool; nil while nothing is there
	r, w  int    // frame.buf[r:w] is not used yet

	socket syscall.RawConn // nil: from cannot be waited for without memory
	last   transfer        // the last read
}

func newIncoming(from io.Reader, p *Pool) incoming {
	return incoming{from: from, pool: p, socket: socketOf(from)}
}

// peek returns the next n bytes, at most pieceBytes, without using them up; fewer with the
// error. They are valid until the next call after take.
func (x *incoming) peek(n int) ([]byte, error) {
	for x.w-x.r < n {
		if err := x.more(n); err != nil {
			if x.frame == nil {
				return nil, err
			}
			return x.frame.buf[x.r:x.w], err
		}
	}
	return x.frame.buf[x.r : x.r+n], nil
}

// take uses up n bytes that peek returned.
func (x *incoming) take(n int) { x.r += n }

// more reads what comes, with room for n bytes in one piece.
func (x *incoming) more(n int) error {
	switch {
	case x.r == x.w:
		x.r, x.w = 0, 0
	case x.r+n > pieceBytes:
		x.w = copy(x.frame.buf, x.frame.buf[x.r:x.w])
		x.r = 0
	}
	read := &x.last
	if x.socket != nil {
		if read.try == nil {
			read.try = x.attempt
		}
		if err := x.socket.Read(read.try); err != nil {
			return err
		}
	} else {
		x.hold()
		read.n, read.err = x.from.Read(x.frame.buf[x.w:pieceBytes])
	}
	x.w += read.n
	switch {
	case read.n > 0:
		return nil
	case read.err != nil:
		return read.err
	case x.socket != nil:
		return io.EOF
	}
	return io.ErrNoProgress
}

// hold gets memory if there is none.
func (x *incoming) hold() {
	if x.frame == nil {
		x.frame = x.pool.take(pieceBytes)
		x.frame.buf = x.frame.buf[:pieceBytes]
	}
}

// rest gives the memory back if nothing is in it.
func (x *incoming) rest() {
	if x.frame != nil && x.r == x.w {
		x.pool.put(x.frame)
		x.frame, x.r, x.w = nil, 0, 0
	}
}

// Read implements io.Reader: large messages come right into their own memory.
func (x *incoming) Read(b []byte) (int, error) {
	if x.r == x.w {
		return x.from.Read(b)
	}
	n := copy(b, x.frame.buf[x.r:x.w])
	x.r += n
	return n, nil
}

// transfer is a Read or a Write that is under way.
type transfer struct {
	b   []byte
	n   int   // how much of b is done
	err error // why not all of it
	try func(fd uintptr) bool
}

func (x *transfer) begin(b []byte) { x.b, x.n, x.err = b, 0, nil }
