package harness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Op codes and flag bits of the wire protocol. Spec: message/OP_MSG.
const (
	opMsg          = 2013
	flagChecksum   = 1 << 0
	flagMoreToCome = 1 << 1
	headerBytes    = 16
	frameBytesMax  = 48 << 20
)

// frameSecondsMax bounds one exchange of frames.
const frameSecondsMax = 60

// Conn is a raw connection: it sends commands as they are and adds nothing but $db.
type Conn struct {
	net.Conn
	id int32
}

// Dial opens a raw connection for a test and closes it at its end.
func (s *Server) Dial(tb testing.TB) *Conn {
	tb.Helper()
	c, err := DialAddr(s.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// FreeAddr returns an address of this machine with a free port.
func FreeAddr(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// DialAddr opens a raw connection to host:port.
func DialAddr(addr string) (*Conn, error) {
	c, err := net.DialTimeout("tcp", addr, 20*time.Second)
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: c}, nil
}

// Command sends one command as OP_MSG and returns the reply's document, whether its ok field is 1 or 0. db is
// added as $db unless cmd has one.
func (c *Conn) Command(db string, cmd bson.Raw) (bson.Raw, error) {
	if err := c.Send(db, cmd, 0); err != nil {
		return nil, err
	}
	return c.Receive()
}

// Send writes one command as OP_MSG with the given flags and waits for nothing.
func (c *Conn) Send(db string, cmd bson.Raw, flags uint32) error {
	if _, err := cmd.LookupErr("$db"); err != nil {
		cmd = withString(cmd, "$db", db)
	}
	c.id++
	frame := make([]byte, headerBytes, headerBytes+5+len(cmd))
	frame = binary.LittleEndian.AppendUint32(frame, flags)
	frame = append(frame, 0) // section kind 0: the body
	frame = append(frame, cmd...)
	PutHeader(frame, c.id, 0, opMsg)
	_ = c.SetDeadline(time.Now().Add(frameSecondsMax * time.Second))
	_, err := c.Write(frame)
	return err
}

// PutHeader fills the first 16 bytes of frame, with len(frame) as the message length.
func PutHeader(frame []byte, requestID, responseTo int32, opCode uint32) {
	binary.LittleEndian.PutUint32(frame[0:], uint32(len(frame)))
	binary.LittleEndian.PutUint32(frame[4:], uint32(requestID))
	binary.LittleEndian.PutUint32(frame[8:], uint32(responseTo))
	binary.LittleEndian.PutUint32(frame[12:], opCode)
}

// ReceiveFrame reads one whole frame, header included.
func (c *Conn) ReceiveFrame() ([]byte, error) {
	_ = c.SetDeadline(time.Now().Add(frameSecondsMax * time.Second))
	var head [headerBytes]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size < headerBytes || size > frameBytesMax {
		return nil, fmt.Errorf("reply frame of %d bytes", size)
	}
	frame := append(make([]byte, 0, size), head[:]...)[:size]
	_, err := io.ReadFull(c, frame[headerBytes:])
	return frame, err
}

// Receive reads one OP_MSG reply and returns its body. The reply must answer the last request and hold one
// body section.
func (c *Conn) Receive() (bson.Raw, error) {
	frame, err := c.ReceiveFrame()
	if err != nil {
		return nil, err
	}
	if op := binary.LittleEndian.Uint32(frame[12:]); op != opMsg {
		return nil, fmt.Errorf("reply has op code %d", op)
	}
	if to := int32(binary.LittleEndian.Uint32(frame[8:])); to != c.id {
		return nil, fmt.Errorf("reply to request %d, the last one was %d", to, c.id)
	}
	if len(frame) < headerBytes+5+5 || frame[headerBytes+4] != 0 {
		return nil, errors.New("reply without a body section")
	}
	body := frame[headerBytes+5:]
	if binary.LittleEndian.Uint32(frame[headerBytes:])&flagChecksum != 0 {
		body = body[:len(body)-4]
	}
	doc := bson.Raw(body)
	return doc, doc.Validate()
}

// withString returns doc with one string field added at its end.
func withString(doc bson.Raw, name, value string) bson.Raw {
	out := append(make(bson.Raw, 0, len(doc)+len(name)+len(value)+7), doc[:len(doc)-1]...)
	out = append(out, byte(bson.TypeString))
	out = append(out, name...)
	out = append(out, 0)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(value)+1))
	out = append(out, value...)
	out = append(out, 0, 0)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	return out
}
