package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// pair returns both ends of a TCP connection; the server's end has small buffers in the system, so that writes fill
// them soon.
func pair(t *testing.T) (server, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close(); client.Close() })
	if err := accepted.(*net.TCPConn).SetWriteBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	return NewSocket(accepted), client
}

// Data of many sizes arrives complete in both directions, even if the socket accepts only a part at a time because
// the other side is slow.
func TestSocket(t *testing.T) {
	server, client := pair(t)
	var all bytes.Buffer
	var pieces [][]byte
	for n := 1; n <= 4*smallBytesMax; n *= 2 {
		for _, n := range []int{n, n + n/3} {
			pieces = append(pieces, bytes.Repeat([]byte{byte(len(pieces) + 1)}, n))
			all.Write(pieces[len(pieces)-1])
		}
	}
	send := func(to io.Writer) (err error) {
		for _, p := range pieces {
			n, e := to.Write(p)
			if e == nil && n != len(p) {
				e = io.ErrShortWrite
			}
			err = errors.Join(err, e)
		}
		return err
	}
	sent := make(chan error, 2)
	for _, way := range []struct {
		name     string
		from, to net.Conn
	}{{"out", server, client}, {"in", client, server}} {
		go func() { sent <- send(way.from) }()
		got := make([]byte, all.Len())
		if _, err := io.ReadFull(way.to, got); err != nil || !bytes.Equal(got, all.Bytes()) {
			t.Errorf("%s: not what was sent: %v", way.name, err)
		}
		if err := <-sent; err != nil {
			t.Errorf("%s: %v", way.name, err)
		}
	}
	client.Close()
	if n, err := server.Read(make([]byte, 10)); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// If the other side sends nothing, or accepts nothing, a read or write fails at its deadline. If the other side has
// closed the connection, a write returns an error; after Close of our end, reads and writes return net.ErrClosed.
func TestSocketFails(t *testing.T) {
	server, client := pair(t)
	piece := make([]byte, smallBytesMax)
	fill := func() (err error) {
		for err == nil {
			_, err = server.Write(piece)
		}
		return err
	}
	server.SetDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := server.Read(piece); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a client that is silent: %v", err)
	}
	if err := fill(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a client that takes nothing: %v", err)
	}
	server.SetDeadline(time.Time{})
	client.Close()
	var op *net.OpError
	if err := fill(); !errors.As(err, &op) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a client that has hung up: %v", err)
	}
	server.Close()
	if _, err := server.Write(piece); !errors.Is(err, net.ErrClosed) {
		t.Errorf("our own end is closed: %v", err)
	}
	if _, err := server.Read(piece); !errors.Is(err, net.ErrClosed) {
		t.Errorf("our own end is closed: %v", err)
	}
}

// Reading and writing allocate nothing.
func TestSocketAllocates(t *testing.T) {
	server, client := pair(t)
	go io.Copy(client, client)
	piece := make([]byte, 1000)
	if n := testing.AllocsPerRun(100, func() {
		server.Write(piece)
		io.ReadFull(server, piece)
	}); n > 0 {
		t.Errorf("%v pieces of memory", n)
	}
}
