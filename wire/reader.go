package wire

import (
	"context"
	"io"
	"time"

	"github.com/cantledb/cantle/ratelimit"
)

// growStep is the size in bytes of the first memory that is allocated for a large message; it grows as the bytes of
// the message arrive.
const growStep = 128 << 10

// Reader reads messages from one connection. Not safe for concurrent use.
type Reader struct {
	Accept Compressors // methods that a sender may use; if empty, OP_COMPRESSED is refused
	// BytesMax is the maximum size in bytes of a message, before and after decompression; at most MessageSizeMax.
	BytesMax int
	// Lanes, if not nil, is a semaphore that bounds how many large messages all connections of the server parse at
	// the same time. A message that gets no slot in time (laneTimeout) is parsed without one.
	Lanes *ratelimit.Semaphore
	// Cut, if not nil, makes every later read from the connection fail. Other goroutines call it, when a large
	// message arrives too slowly while other messages wait for memory.
	Cut func()

	in    incoming
	pool  *Pool
	piece []byte    // the message in the buffer of in, if it fits there
	large [2]*Frame // memory of a larger message, and of a decompressed one

	sender    *sender           // the user of the messages; nil before ChargeTo
	reserved  int64             // of Pool.Messages
	from      *ratelimit.Memory // of which it was reserved
	receiving largeMessage
}

// NewReader reads from r and takes its memory from p.
func NewReader(r io.Reader, p *Pool) *Reader {
	return &Reader{in: newIncoming(r, p), pool: p, Accept: AllCompressors, BytesMax: MessageSizeMax}
}

// Read reads the next message into m and releases the memory of the message before.
//
// Errors: io.EOF if the client closed the connection between two messages; ErrFrame, ErrHTTP, ErrTooSlow,
// ErrNoMemory or an error of the connection if it cannot continue; *mongoerr.Error if the message cannot be run but
// the sender can get an answer, unless m.WantsReply returns false.
func (r *Reader) Read(m *Message) error {
	r.Release()
	m.reset()
	head, err := r.in.peek(HeaderSize)
	if err != nil {
		if err == io.EOF && len(head) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	h := parseHeader(head)
	if n := int(h.Length); n < HeaderSize || n > MessageSizeMax {
		switch string(head[:4]) {
		case "GET ", "POST", "HEAD", "PUT ":
			return ErrHTTP
		}
		return broken("length %d is not between %d and %d", n, HeaderSize, MessageSizeMax)
	}
	if n := int(h.Length); n > r.BytesMax {
		return broken("length %d is more than the %d bytes allowed before a login", n, r.BytesMax)
	}
	need := roomFor(int(h.Length))
	if h.OpCode == OpCompressed && need > 0 {
		if head, err = r.in.peek(HeaderSize + compressedHead); err != nil {
			return noEOF(err)
		}
		_, size, _, _, err := parseCompressedHead(head[HeaderSize:])
		if err != nil {
			return err
		}
		need += roomFor(HeaderSize + size)
	}
	b, err := r.fill(m, h, need)
	if err != nil {
		return err
	}
	if h.OpCode != OpCompressed {
		defer r.lane(int(h.Length))()
		return m.parse(b)
	}
	return r.readCompressed(m, h, b)
}

// LargeBytes is the size in bytes from which parsing a message takes so long that it needs a slot of Reader.Lanes.
const LargeBytes = 256 << 10

// laneTimeout is the patience with which a large message waits for a slot of Reader.Lanes (Semaphore.Acquire).
const laneTimeout = 200 * time.Millisecond

// lane waits with laneTimeout for a slot of Lanes, if a message of n bytes needs one to be parsed. The caller calls
// leave after parsing.
func (r *Reader) lane(n int) (leave func()) {
	if r.Lanes == nil || n < LargeBytes {
		return func() {}
	}
	user := ""
	if r.sender != nil {
		user = r.sender.name
	}
	if entered, _ := r.Lanes.Acquire(context.Background(), user, true, laneTimeout); !entered {
		return func() {}
	}
	return r.Lanes.Release
}

// fill reads the message with the header h into memory of this Reader, and returns its bytes. For a large message it
// reserves need bytes when the first 64 KiB have arrived, and allocates memory as more bytes arrive, so that a
// header alone cannot claim 48 MB.
func (r *Reader) fill(m *Message, h Header, need int64) ([]byte, error) {
	n := int(h.Length)
	if n <= pieceBytes {
		b, err := r.in.peek(n)
		if err != nil {
			return nil, noEOF(err)
		}
		r.in.take(n)
		r.piece = b
		return b, nil
	}
	first, err := r.begin(min(n, smallBytesMax))
	if err != nil || len(first) == n {
		return first, err
	}
	if !r.reserve(need) {
		return nil, r.discard(m, h, first)
	}
	a := &r.receiving
	r.pool.largeMessages.enter(a, r.sender, r.Cut)
	defer r.pool.largeMessages.leave(a)
	f := r.pool.get(n)
	if f == nil {
		f = &Frame{buf: make([]byte, room(min(n, growStep)))}
	}
	have := copy(f.buf[:cap(f.buf)], first)
	r.pool.put(r.large[0])
	r.large[0] = f
	for {
		b := f.buf[:min(n, cap(f.buf))]
		for have < len(b) {
			m, err := r.in.Read(b[have:])
			have += m
			a.got.Store(int64(have))
			if err != nil && have < len(b) {
				if a.closed.Load() {
					err = ErrTooSlow
				}
				return nil, noEOF(err)
			}
		}
		if have == n {
			f.buf = b
			return b, nil
		}
		grown := make([]byte, room(min(n, 2*cap(f.buf))))
		copy(grown, b)
		f.buf = grown
	}
}

// begin reads the first n bytes of a message that is larger than pieceBytes. It takes memory for them only after
// pieceBytes have arrived.
func (r *Reader) begin(n int) ([]byte, error) {
	if _, err := r.in.peek(pieceBytes); err != nil {
		return nil, noEOF(err)
	}
	f := r.pool.take(n)
	f.buf = f.buf[:n]
	r.large[0] = f
	_, err := io.ReadFull(&r.in, f.buf)
	return f.buf, noEOF(err)
}

// noEOF converts io.EOF inside a message into io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readCompressed decompresses b, the bytes of an OP_COMPRESSED with the header h, and parses the message inside into
// m.
func (r *Reader) readCompressed(m *Message, h Header, b []byte) error {
	op, size, c, body, err := parseCompressedHead(b[HeaderSize:])
	if err != nil {
		return err
	}
	if !r.Accept.Has(c) {
		return broken("compression method %d was not agreed on", c)
	}
	n := HeaderSize + size
	if n > r.BytesMax {
		return broken("length %d is more than the %d bytes allowed before a login", n, r.BytesMax)
	}
	if r.reserved == 0 && !r.reserve(roomFor(n)) {
		return ErrNoMemory
	}
	f := r.pool.take(n)
	f.buf = f.buf[:n]
	r.large[1] = f
	plain := f.buf
	defer r.lane(n)()
	Header{Length: int32(n), RequestID: h.RequestID, ResponseTo: h.ResponseTo, OpCode: op}.put(plain)
	if err := r.pool.codecs.decompress(plain[HeaderSize:], body, c); err != nil {
		return err
	}
	err = m.parse(plain)
	m.Compressed, m.Compressor = true, c
	return err
}

// Release releases the memory of the message that was read last. This Message must not be used afterwards.
func (r *Reader) Release() {
	for i, f := range r.large {
		r.pool.put(f)
		r.large[i] = nil
	}
	if r.reserved > 0 {
		r.from.Give(r.reserved)
		r.reserved = 0
	}
	if invariants {
		poison(r.piece[:len(r.piece):len(r.piece)])
	}
	r.piece = nil
}
