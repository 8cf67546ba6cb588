package wire

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/cantledb/cantle/bson"
)

// Bytes before the document in the two kinds of reply.
const (
	msgHead   = HeaderSize + 4 + 1
	queryHead = HeaderSize + replyHead
)

// keptBytes is the size of the buffer that a Reply keeps from one request to the next. Larger buffers go back to the
// pool.
const keptBytes = 1 << 10

// Reply is the answer to one request while it is written. Its memory is reused for the answer to the next request.
// Not safe for concurrent use; must not be copied.
type Reply struct {
	// More makes the server run the same request again after this reply was sent. The handler
	// may set it only if the request has ExhaustAllowed; otherwise it is ignored.
	More bool

	pool  *Pool
	frame *Frame // memory of the builder: &kept or one from the pool
	kept  Frame  // of keptBytes
	zip   *Frame // memory of the compressed form; nil: none yet
	b     bson.Builder
	to    Header
	flags Flags // of the request
	comp  Compressor
	isZip bool
	last  int  // length of the last reply in bytes if it exceeded keptBytes, because the next reply is probably as long
	fail  bool // OP_REPLY: queryFailure
	none  [8]byte

	counted int64 // of Pool.Replies
}

// NewReply makes a reply that takes its memory from p.
func NewReply(p *Pool) *Reply {
	r := &Reply{pool: p}
	r.frame = &r.kept
	r.b.GrowBy(r.grow)
	return r
}

// grow moves the bytes of the reply to memory with room for n more bytes. The new memory is at least twice as large,
// so that a long reply is moved only a few times.
func (r *Reply) grow(buf []byte, n int) []byte {
	f := r.pool.take(max(len(buf)+n, 2*cap(buf)))
	f.buf = append(f.buf[:0], buf...)
	if r.frame != &r.kept {
		r.pool.put(r.frame)
	}
	r.frame = f
	return f.buf
}

// Start begins the reply to the request m. The bytes of the reply are valid until Release.
func (r *Reply) Start(m *Message) {
	r.to, r.flags = m.Header, m.Flags
	r.comp, r.isZip = m.Compressor, m.Compressed
	if r.last > 0 {
		r.frame = r.pool.take(r.last)
	} else if r.kept.buf == nil {
		r.kept.buf = make([]byte, 0, keptBytes)
	}
	r.last = 0
	r.begin(r.frame.buf[:0])
}

// Restart discards the body.
func (r *Reply) Restart() { r.begin(r.b.Finish()[:0]) }

// begin starts the reply in buf: it leaves room for the bytes before the document, and opens the document.
func (r *Reply) begin(buf []byte) {
	r.More, r.fail = false, false
	head := msgHead
	if r.to.OpCode == OpQuery || r.to.OpCode == OpGetMore {
		head = queryHead
	}
	for range head {
		buf = append(buf, 0)
	}
	r.b.Reset(buf)
}

// roomMin is the number of bytes that a reply may always have, however much memory other replies use.
const roomMin = 64 << 10

// Room returns how many bytes the reply may have: the maximum most, halved until so many can be reserved in the memory
// that all replies share; or roomMin (most, if that is less), without a reservation.
func (r *Reply) Room(most int) int {
	for n := most; n > roomMin; n /= 2 {
		if r.pool.Replies.Take(int64(n)) {
			r.counted += int64(n)
			return n
		}
	}
	return min(most, roomMin)
}

// ReleaseMemory releases the memory that Room reserved, for a command that waits and writes nothing for some time.
func (r *Reply) ReleaseMemory() { r.setCharge(0) }

// Large returns by how many bytes this reply is counted in the memory that all large replies share.
func (r *Reply) Large() int64 { return r.counted }

// setCharge sets the number of bytes by which this reply is counted in Pool.Replies to n, or to 0 for a small reply.
func (r *Reply) setCharge(n int) {
	if n <= smallBytesMax {
		n = 0
	}
	switch more := int64(n) - r.counted; {
	case more > 0:
		r.pool.Replies.Force(more)
	case more < 0:
		r.pool.Replies.Give(-more)
	}
	r.counted = int64(n)
}

// Body returns the builder of the reply document, open until Finish.
func (r *Reply) Body() *bson.Builder { return &r.b }

// Fail marks the reply as an error if it is an OP_REPLY; for an OP_MSG it has no effect.
func (r *Reply) Fail() { r.fail = true }

// Exhausts reports whether the request allows more than one reply.
func (r *Reply) Exhausts() bool { return r.flags&ExhaustAllowed != 0 }

// Finish closes the reply document and returns the bytes of the whole message, compressed as the request, or with a
// checksum if an uncompressed request had one. id is the id of this message; to is the id of the message that it
// answers: the request, or for later replies to an exhaust request the reply before. Errors: those of a compressor.
func (r *Reply) Finish(id, to int32) ([]byte, error) {
	b := r.b.Finish()
	h := Header{RequestID: id, ResponseTo: to, OpCode: OpMsg}
	if r.to.OpCode == OpQuery || r.to.OpCode == OpGetMore {
		h.OpCode = OpReply
		switch {
		case r.to.OpCode == OpGetMore:
			b = r.finishBatch(b)
		case r.fail:
			b[HeaderSize], b[queryHead-4] = queryFailure, 1
		default:
			b[queryHead-4] = 1
		}
	} else {
		var f Flags
		if r.More && r.Exhausts() {
			f |= MoreToCome
		}
		if r.flags&ChecksumPresent != 0 && !r.isZip {
			f |= ChecksumPresent
			b = append(b, 0, 0, 0, 0)
		}
		binary.LittleEndian.PutUint32(b[HeaderSize:], uint32(f))
	}
	h.Length = int32(len(b))
	h.put(b)
	if h.OpCode == OpMsg && r.flags&ChecksumPresent != 0 && !r.isZip {
		end := len(b) - 4
		binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
	}
	r.frame.buf = b
	if len(b) > keptBytes {
		r.last = len(b)
	}
	r.setCharge(len(b))
	if !r.isZip {
		return b, nil
	}
	if r.zip == nil {
		r.zip = r.pool.take(len(b))
	}
	z, err := AppendCompressed(r.zip.buf[:0], b, r.comp, r.pool)
	r.zip.buf = z
	r.setCharge(len(b) + len(z))
	return z, err
}

// Release releases the memory after the reply was written.
func (r *Reply) Release() {
	r.b.Reset(r.none[:0]) // drops the buffer that frame owns
	r.setCharge(0)
	if r.frame != &r.kept {
		r.pool.put(r.frame)
		r.frame = &r.kept
	} else if invariants {
		poison(r.kept.buf)
	}
	r.pool.put(r.zip)
	r.zip = nil
}

// AppendCompressed appends to dst the message msg in the form of an OP_COMPRESSED, compressed by the method c.
func AppendCompressed(dst, msg []byte, c Compressor, p *Pool) ([]byte, error) {
	h := parseHeader(msg)
	start := len(dst)
	dst = append(dst, make([]byte, HeaderSize+compressedHead)...)
	binary.LittleEndian.PutUint32(dst[start+HeaderSize:], uint32(h.OpCode))
	binary.LittleEndian.PutUint32(dst[start+HeaderSize+4:], uint32(len(msg)-HeaderSize))
	dst[start+HeaderSize+8] = byte(c)
	dst, err := p.codecs.compress(dst, msg[HeaderSize:], c)
	if err != nil {
		return dst[:start], err
	}
	h.OpCode = OpCompressed
	h.Length = int32(len(dst) - start)
	h.put(dst[start:])
	return dst, nil
}

// AppendMsg appends to dst an OP_MSG as a client sends it, for clients and tests in Go. If the flags contain
// ChecksumPresent, a checksum follows.
func AppendMsg(dst []byte, id int32, f Flags, body bson.Raw, sequences ...Sequence) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, HeaderSize)...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(f))
	dst = append(append(dst, 0), body...)
	for _, s := range sequences {
		dst = append(dst, 1)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(4+len(s.Name)+1+len(s.Data)))
		dst = append(append(dst, s.Name...), 0)
		dst = append(dst, s.Data...)
	}
	n := len(dst) - start
	if f&ChecksumPresent != 0 {
		n += 4
	}
	Header{Length: int32(n), RequestID: id, OpCode: OpMsg}.put(dst[start:])
	if f&ChecksumPresent != 0 {
		dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
	}
	return dst
}

// AppendQuery appends to dst an OP_QUERY with one command, as old drivers send hello.
func AppendQuery(dst []byte, id int32, namespace string, query bson.Raw) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, HeaderSize+4)...)
	dst = append(append(dst, namespace...), 0)
	dst = append(dst, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff)
	dst = append(dst, query...)
	Header{Length: int32(len(dst) - start), RequestID: id, OpCode: OpQuery}.put(dst[start:])
	return dst
}
