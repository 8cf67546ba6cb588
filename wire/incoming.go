package wire

import (
	"io"
	"syscall"
)

// pieceBytes is the number of bytes that one read requests from the system: a request of usual size is read by one
// system call. Measured as the best size for requests and replies in turn.
const pieceBytes = 16 << 10

// incoming buffers the bytes that were read from a connection and are not consumed yet. If the system can wait for
// bytes without a buffer, incoming holds a buffer only while there are such bytes, so that an idle connection costs
// no buffer. Not safe for concurrent use.
type incoming struct {
	from io.Reader
	pool *Pool

	frame *Frame // of pieceBytes, from the pool; nil while there are no unconsumed bytes
	r, w  int    // frame.buf[r:w] is not used yet

	socket syscall.RawConn // nil: waiting for bytes of from needs a buffer
	last   transfer        // the last read
}

func newIncoming(from io.Reader, p *Pool) incoming {
	return incoming{from: from, pool: p, socket: socketOf(from)}
}

// peek returns the next n bytes without consuming them; n is at most pieceBytes. If reading fails, it returns the
// bytes that have arrived and the error. The bytes are valid until the first peek or Read after take.
func (x *incoming) peek(n int) ([]byte, error) {
	for x.w-x.r < n {
		if err := x.fill(n); err != nil {
			if x.frame == nil {
				return nil, err
			}
			return x.frame.buf[x.r:x.w], err
		}
	}
	return x.frame.buf[x.r : x.r+n], nil
}

// take consumes n bytes that peek returned.
func (x *incoming) take(n int) { x.r += n }

// fill waits for bytes and reads those that have arrived into the buffer. Before, it moves the unconsumed bytes to
// the beginning of the buffer if n contiguous bytes would not fit otherwise.
func (x *incoming) fill(n int) error {
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
		x.acquire()
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

// acquire takes a buffer if there is none.
func (x *incoming) acquire() {
	if x.frame == nil {
		x.frame = x.pool.take(pieceBytes)
		x.frame.buf = x.frame.buf[:pieceBytes]
	}
}

// releaseEmpty returns the buffer if it is empty.
func (x *incoming) releaseEmpty() {
	if x.frame != nil && x.r == x.w {
		x.pool.put(x.frame)
		x.frame, x.r, x.w = nil, 0, 0
	}
}

// Read implements io.Reader. If the buffer is empty, it reads from the connection directly into b, so that large
// messages are not copied.
func (x *incoming) Read(b []byte) (int, error) {
	if x.r == x.w {
		return x.from.Read(b)
	}
	n := copy(b, x.frame.buf[x.r:x.w])
	x.r += n
	return n, nil
}

// transfer is a Read or a Write in progress.
type transfer struct {
	b   []byte
	n   int   // the number of bytes of b that are done
	err error // the reason if that is not all
	try func(fd uintptr) bool
}

func (x *transfer) begin(b []byte) { x.b, x.n, x.err = b, 0, nil }
