package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire"
)

// TestMain fails if a goroutine of this package outlives the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if leaked := leaks(2 * time.Second); leaked != "" {
			fmt.Fprintln(os.Stderr, "leaked goroutines:\n"+leaked)
			code = 1
		}
	}
	os.Exit(code)
}

// leaks waits, for at most patience, until only the caller's goroutine runs code of this package, and returns the
// stacks of the others. It polls, because the end of a goroutine cannot be observed.
func leaks(patience time.Duration) string {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		buf := make([]byte, 1<<20)
		var left []string
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "wire/server.") && !strings.Contains(g, "TestMain") {
				left = append(left, g)
			}
		}
		if len(left) == 0 {
			return ""
		}
		if time.Now().After(end) {
			return strings.Join(left, "\n\n")
		}
	}
}

// stub is a Handler for tests; the first field of the body names its command.
type stub struct {
	connects, disconnects atomic.Int64
	handled               atomic.Int64
	causes                chan error    // of the ends of "wait" commands
	started               chan struct{} // a "wait" began
	release               chan struct{} // ends a "finish"
}

func newStub() *stub {
	return &stub{causes: make(chan error, 10), started: make(chan struct{}, 10), release: make(chan struct{})}
}

func (h *stub) Connect(c wire.Conn) error {
	if c.Tag() == "closed" {
		return errors.New("not today")
	}
	h.connects.Add(1)
	c.SetState(new(int))
	return nil
}

func (h *stub) Disconnect(c wire.Conn) {
	if c.State() == nil {
		panic("State is gone")
	}
	h.disconnects.Add(1)
}

func (h *stub) Handle(ctx context.Context, c wire.Conn, m *wire.Message, r *wire.Reply) error {
	h.handled.Add(1)
	*c.State().(*int)++
	f, _ := m.Body.First()
	n, _ := f.Value.Int64()
	b := r.Body()
	switch string(f.Name) {
	case "wait":
		h.started <- struct{}{}
		<-ctx.Done()
		h.causes <- context.Cause(ctx)
	case "finish":
		h.started <- struct{}{}
		<-h.release
	case "panic":
		b.BeginDoc("half")
		panic("as asked")
	case "hangup":
		return wire.ErrHangUp
	case "last":
		c.HangUpAfterReply()
	case "stream":
		r.More = int64(m.Repeat) < n
		b.Int32("repeat", int32(m.Repeat))
	case "big":
		b.String("s", strings.Repeat("x", int(n)))
	case "insert":
		s, _ := m.Sequence("documents")
		b.Int32("n", int32(s.Count))
	}
	b.Int32("seen", int32(*c.State().(*int)))
	b.String("tag", c.Tag())
	b.Double("ok", 1)
	return nil
}

// start serves the handler h on a free port until the test ends, and returns the server and its address.
func start(t *testing.T, h Handler, cfg Config) (*Server, string) {
	t.Helper()
	if cfg.WatchEvery == 0 {
		cfg.WatchEvery = 2 * time.Millisecond
	}
	cfg.Compressors = wire.AllCompressors
	cfg.Log = cfg.Log.Output(io.Discard)
	s := New(h, cfg)
	return s, serve(t, s, "127.0.0.1:0", "main")
}

func serve(t *testing.T, s *Server, address, tag string) string {
	t.Helper()
	l, err := Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(context.Background(), l, tag) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		s.Shutdown(ctx)
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// client is a raw connection.
type client struct {
	t  *testing.T
	nc net.Conn
	r  *wire.Reader
}

func dial(t *testing.T, address string) *client {
	t.Helper()
	network := "tcp"
	if strings.Contains(address, "/") {
		network = "unix"
	}
	nc, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(2 * time.Minute))
	return &client{t, nc, wire.NewReader(nc, &wire.Pool{})}
}

func (c *client) send(b []byte) {
	c.t.Helper()
	if _, err := c.nc.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) read() *wire.Message {
	c.t.Helper()
	m := &wire.Message{}
	if err := c.r.Read(m); err != nil {
		c.t.Fatal(err)
	}
	return m
}

// closed checks that the server closes the client's connection without sending a further message.
func (c *client) closed() {
	c.t.Helper()
	if err := c.r.Read(&wire.Message{}); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Errorf("connection still open: %v", err)
	}
}

func cmd(name string, n int32) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Int32(name, n)
	return b.Doc()
}

func (c *client) run(name string, n int32) *wire.Message {
	c.t.Helper()
	c.send(wire.AppendMsg(nil, 77, 0, cmd(name, n)))
	m := c.read()
	if m.Header.ResponseTo != 77 {
		c.t.Errorf("%s: reply answers %d", name, m.Header.ResponseTo)
	}
	return m
}

func num(m *wire.Message, field string) int64 {
	v := m.Body.Get(field)
	if f, ok := v.Double(); ok {
		return int64(f)
	}
	n, _ := v.Int64()
	return n
}

func TestRequests(t *testing.T) {
	h := newStub()
	s, addr := start(t, h, Config{})
	c := dial(t, addr)
	for i := range 5 {
		if m := c.run("ping", 1); num(m, "seen") != int64(i+1) || num(m, "ok") != 1 {
			t.Fatalf("%+v", m)
		}
	}
	// Large both ways, then small again.
	seq := wire.Sequence{Name: []byte("documents")}
	for range 30_000 {
		seq.Data = append(seq.Data, cmd("x", 1)...)
	}
	c.send(wire.AppendMsg(nil, 77, wire.ChecksumPresent, cmd("insert", 1), seq))
	if m := c.read(); num(m, "n") != 30_000 || m.Flags&wire.ChecksumPresent == 0 {
		t.Errorf("insert: %+v", m.Flags)
	}
	if m := c.run("big", 5_000_000); m.Body.Size() < 5_000_000 {
		t.Errorf("big: %d bytes", m.Body.Size())
	}
	for k := wire.Noop; k <= wire.Zstd; k++ {
		z, err := wire.AppendCompressed(nil, wire.AppendMsg(nil, 5, 0, cmd("big", 100_000)), k, &wire.Pool{})
		if err != nil {
			t.Fatal(err)
		}
		c.send(z)
		if m := c.read(); !m.Compressed || m.Compressor != k || m.Header.ResponseTo != 5 {
			t.Errorf("%v: %+v", k, m.Header)
		}
	}
	c.send(wire.AppendQuery(nil, 6, "admin.$cmd", cmd("isMaster", 1)))
	if m := c.read(); m.Header.OpCode != wire.OpReply || m.Header.ResponseTo != 6 || num(m, "ok") != 1 {
		t.Errorf("isMaster: %+v", m.Header)
	}
	if st := s.Stats(); st.Current != 1 || st.Total != 1 {
		t.Errorf("%+v", st)
	}
	if c.run("last", 1); true {
		c.closed()
	}
}

// TestNoReply: requests with moreToCome get no reply, refused ones included.
func TestNoReply(t *testing.T) {
	_, addr := start(t, newStub(), Config{})
	c := dial(t, addr)
	bad := wire.AppendMsg(nil, 2, wire.MoreToCome, cmd("ping", 1))
	bad[wire.HeaderSize+4+1+4] = 0x7e // unknown type
	c.send(wire.AppendMsg(nil, 1, wire.MoreToCome, cmd("ping", 1)))
	c.send(bad)
	c.send(wire.AppendMsg(nil, 3, wire.MoreToCome|wire.ExhaustAllowed, cmd("stream", 3)))
	if m := c.run("ping", 1); num(m, "seen") != 3 {
		t.Errorf("seen %d", num(m, "seen"))
	}
}

func TestExhaust(t *testing.T) {
	_, addr := start(t, newStub(), Config{})
	c := dial(t, addr)
	c.send(wire.AppendMsg(nil, 9, wire.ExhaustAllowed, cmd("stream", 3)))
	to := int32(9)
	for i := range 4 {
		m := c.read()
		if num(m, "repeat") != int64(i) || m.Header.ResponseTo != to {
			t.Errorf("reply %d: %+v repeat %d", i, m.Header, num(m, "repeat"))
		}
		if more := m.Flags&wire.MoreToCome != 0; more != (i < 3) {
			t.Errorf("reply %d: moreToCome %v", i, more)
		}
		to = m.Header.RequestID
	}
	// Without the flag exhaustAllowed there is only one reply, even if the handler sets More.
	if m := c.run("stream", 3); m.Flags&wire.MoreToCome != 0 {
		t.Error("moreToCome without exhaustAllowed")
	}
	c.run("ping", 1)
}

// TestMessageErrorsKeepConnection checks that broken documents and checksums, and requests with old opcodes, are
// answered with an error, and that the connection stays open.
func TestMessageErrorsKeepConnection(t *testing.T) {
	_, addr := start(t, newStub(), Config{})
	c := dial(t, addr)
	broken := wire.AppendMsg(nil, 1, 0, cmd("ping", 1))
	broken[wire.HeaderSize+4+1+4] = 0x7e
	sum := wire.AppendMsg(nil, 1, wire.ChecksumPresent, cmd("ping", 1))
	sum[len(sum)-1]++
	getMore := wire.AppendMsg(nil, 1, 0, cmd("ping", 1))
	getMore[12], getMore[13] = byte(wire.OpGetMore&0xff), byte(wire.OpGetMore>>8)
	for _, k := range []struct {
		in   []byte
		code mongoerr.Code
		op   wire.OpCode
	}{
		{broken, mongoerr.InvalidBSON, wire.OpMsg},
		{sum, mongoerr.ChecksumMismatch, wire.OpMsg},
		{wire.AppendQuery(nil, 1, "db.$cmd", cmd("find", 1)), 352, wire.OpReply},
		{wire.AppendQuery(nil, 1, "db.c", cmd("a", 1)), 5739101, wire.OpReply},
		{getMore, 5739101, wire.OpReply},
	} {
		c.send(k.in)
		m := c.read()
		if num(m, "code") != int64(k.code) || m.Header.OpCode != k.op || num(m, "ok") != 0 {
			t.Errorf("%v: code %d by %v", k.code, num(m, "code"), m.Header.OpCode)
		}
	}
	c.run("ping", 1)
}

// TestCut checks that messages with a wrong length, an unknown required flag or an opcode that is not served, and
// wire.ErrHangUp of the handler, close the connection without an answer, and that an HTTP request gets a text.
func TestCut(t *testing.T) {
	h := newStub()
	_, addr := start(t, h, Config{})
	ping := func(edit func(b []byte)) []byte {
		b := wire.AppendMsg(nil, 1, 0, cmd("ping", 1))
		edit(b)
		return b
	}
	for name, in := range map[string][]byte{
		"huge length":   ping(func(b []byte) { b[3] = 0x7f }),
		"small length":  ping(func(b []byte) { b[0] = 3 }),
		"required flag": ping(func(b []byte) { b[wire.HeaderSize] = 4 }),
		"opcode":        ping(func(b []byte) { b[12], b[13] = 99, 0 }),
		"OP_INSERT":     ping(func(b []byte) { b[12], b[13] = 0xd2, 0x07 }),
		"hangup":        wire.AppendMsg(nil, 1, 0, cmd("hangup", 1)),
	} {
		c := dial(t, addr)
		c.send(in)
		if err := c.r.Read(&wire.Message{}); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := dial(t, addr)
	c.send([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	b, _ := io.ReadAll(c.nc)
	if !strings.HasPrefix(string(b), "HTTP/1.0 200 OK") {
		t.Errorf("HTTP got %q", b)
	}
}

func TestPanic(t *testing.T) {
	var log bytes.Buffer
	h := newStub()
	_, addr := start(t, h, Config{Log: zerolog.New(&log)})
	c := dial(t, addr)
	c.run("big", 100_000)
	if m := c.run("panic", 1); num(m, "code") != 1 {
		t.Errorf("code %d", num(m, "code"))
	}
	c.closed()
	dial(t, addr).run("ping", 1)
}

// TestClientGone checks that a running command ends when its client closes the connection, or only its sending side.
func TestClientGone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("cannot be noticed on this system")
	}
	h := newStub()
	s, addr := start(t, h, Config{})
	for _, half := range []bool{false, true} {
		c := dial(t, addr)
		c.send(wire.AppendMsg(nil, 1, 0, cmd("wait", 1)))
		<-h.started
		if half {
			c.nc.(*net.TCPConn).CloseWrite()
		} else {
			c.nc.Close()
		}
		if err := <-h.causes; err != wire.ErrClientGone {
			t.Errorf("cause %v", err)
		}
	}
	waitFor(t, func() bool { return s.Stats().Current == 0 })
	if h.connects.Load() != h.disconnects.Load() {
		t.Errorf("%d connects, %d disconnects", h.connects.Load(), h.disconnects.Load())
	}
}

// TestHalfMessage checks that a client which sends nothing, or stops inside a message, counts as idle, so that its
// connection is closed.
func TestHalfMessage(t *testing.T) {
	s, addr := start(t, newStub(), Config{IdleMax: 30 * time.Millisecond})
	msg := wire.AppendMsg(nil, 1, 0, cmd("ping", 1))
	for _, n := range []int{0, 5, 20} {
		c := dial(t, addr)
		c.send(msg[:n])
		c.closed()
	}
	waitFor(t, func() bool { return s.Stats().Current == 0 })
}

// TestSlowReader checks that the connection of a client which does not read its reply is closed after WriteMax.
func TestSlowReader(t *testing.T) {
	s, addr := start(t, newStub(), Config{WriteMax: 30 * time.Millisecond})
	c := dial(t, addr)
	c.send(wire.AppendMsg(nil, 1, 0, cmd("big", 15_000_000)))
	waitFor(t, func() bool { return s.Stats().Total == 1 && s.Stats().Current == 0 })
}

func TestConnsMax(t *testing.T) {
	s, addr := start(t, newStub(), Config{ConnsMax: 2})
	a, b := dial(t, addr), dial(t, addr)
	a.run("ping", 1)
	b.run("ping", 1)
	dial(t, addr).closed()
	if st := s.Stats(); st.Rejected != 1 || st.Free != 0 {
		t.Errorf("%+v", st)
	}
	a.nc.Close()
	waitFor(t, func() bool { return s.Stats().Current == 1 })
	dial(t, addr).run("ping", 1)
}

// TestCloseByOthers checks that Conn.Close, called from another goroutine than the connection's, interrupts the running
// command with the given cause, and that the connection is closed after the reply.
func TestCloseByOthers(t *testing.T) {
	h := newStub()
	s, addr := start(t, h, Config{})
	c := dial(t, addr)
	c.send(wire.AppendMsg(nil, 1, 0, cmd("wait", 1)))
	<-h.started
	why := errors.New("because")
	s.Each(func(c wire.Conn) bool { c.Close(why); return true })
	if err := <-h.causes; err != why {
		t.Errorf("cause %v", err)
	}
	c.read()
	c.closed()
}

func TestListeners(t *testing.T) {
	h := newStub()
	s, addr := start(t, h, Config{})
	path := filepath.Join(t.TempDir(), "s.sock")
	// A socket file that a crash has left does not prevent a start.
	old, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	old.(*net.UnixListener).SetUnlinkOnClose(false)
	old.Close()
	serve(t, s, "unix:"+path, "local")
	refused := serve(t, s, "127.0.0.1:0", "closed")
	if _, err := Listen(t.Context(), path); err == nil {
		t.Error("took over a socket in use")
	}
	for address, tag := range map[string]string{addr: "main", path: "local"} {
		if got, _ := dial(t, address).run("ping", 1).Body.Get("tag").Str(); got != tag {
			t.Errorf("%s: tag %q", address, got)
		}
	}
	dial(t, refused).closed()
}

// TestQuickConnects opens and closes many connections, some of them inside a message, and checks that all of them
// end.
func TestQuickConnects(t *testing.T) {
	h := newStub()
	s, addr := start(t, h, Config{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 250 {
				nc, err := net.Dial("tcp", addr)
				if err != nil {
					t.Error(err)
					return
				}
				nc.SetDeadline(time.Now().Add(2 * time.Minute))
				switch (w + i) % 3 {
				case 0:
					nc.Write(wire.AppendMsg(nil, 1, 0, cmd("ping", 1)))
					if err := wire.NewReader(nc, &wire.Pool{}).Read(&wire.Message{}); err != nil {
						t.Error(err)
					}
				case 1:
					nc.Write([]byte{1, 2, 3})
				}
				nc.Close()
			}
		})
	}
	wg.Wait()
	waitFor(t, func() bool { st := s.Stats(); return st.Current == 0 && st.Total == 1000 })
	if h.connects.Load() != 1000 || h.disconnects.Load() != 1000 {
		t.Errorf("%d connects, %d disconnects", h.connects.Load(), h.disconnects.Load())
	}
}

func TestAgree(t *testing.T) {
	c := &Conn{server: New(newStub(), Config{Compressors: wire.Compressors(0).With(wire.Zstd).With(wire.Snappy)})}
	c.reader = wire.NewReader(nil, &wire.Pool{})
	if got := c.NegotiateCompressors(wire.Compressors(0).With(wire.Zlib).With(wire.Zstd)); !got.Has(wire.Zstd) || got.Has(wire.Zlib) || got.Has(wire.Snappy) {
		t.Errorf("%b", got)
	}
}

// waitFor polls until ok returns true, and fails the test after two minutes. These tests use real sockets, which
// synctest cannot control, and there is no signal for a change of the statistics.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}
