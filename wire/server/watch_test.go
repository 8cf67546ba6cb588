package server

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// deadlines is a socket that records whether a deadline was set to end its reads.
type deadlines struct {
	net.Conn
	ended bool
}

func (d *deadlines) RemoteAddr() net.Addr { return address("127.0.0.1") }
func (d *deadlines) LocalAddr() net.Addr  { return address("127.0.0.1") }
func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.ended = !at.IsZero()
	return nil
}

// TestNewConnectionIsNotIdle checks that a connection whose goroutine has not started yet, as on a busy machine,
// does not count as idle since the start of the server.
func TestNewConnectionIsNotIdle(t *testing.T) {
	cfg := Config{FirstMax: time.Minute, Log: zerolog.Nop()}
	s := New(newStub(), cfg)
	nc := &deadlines{}
	c := newConn(context.Background(), s, nc, "main")
	w := &watcher{Server: s, clock: time.Hour}
	for _, look := range []struct {
		after time.Duration
		ended bool
	}{{0, false}, {cfg.FirstMax, false}, {1, true}} {
		w.clock += look.after
		if w.examine(c, s.writeTimeout()); nc.ended != look.ended {
			t.Errorf("%v later: ended is %v", look.after, nc.ended)
		}
	}
}
