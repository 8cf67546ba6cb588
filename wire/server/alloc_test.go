//go:build !invariants

package server

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/cantledb/cantle/wire"
)

// TestAllocs checks that the loop of a connection allocates nothing per request, neither to read the request nor to
// send the reply.
func TestAllocs(t *testing.T) {
	_, addr := start(t, null{}, Config{WatchEvery: time.Hour})
	c := dial(t, addr)
	msg, m := wire.AppendMsg(nil, 1, 0, cmd("ping", 1)), &wire.Message{}
	run := func() {
		if _, err := c.nc.Write(msg); err != nil {
			t.Fatal(err)
		}
		if err := c.r.Read(m); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(500, run); n > 0 {
		t.Errorf("%v allocations per request", n)
	}
}

func BenchmarkPing(b *testing.B) {
	s := New(null{}, Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go s.Serve(context.Background(), l, "")
	defer s.Shutdown(context.Background())
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	r, m, msg := wire.NewReader(nc, &wire.Pool{}), &wire.Message{}, wire.AppendMsg(nil, 1, 0, cmd("ping", 1))
	b.ReportAllocs()
	for b.Loop() {
		nc.Write(msg)
		if err := r.Read(m); err != nil {
			b.Fatal(err)
		}
	}
}
