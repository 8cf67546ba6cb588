package server

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/wire"
)

// null answers everything with {ok: 1}.
type null struct{}

func (null) Connect(wire.Conn) error { return nil }
func (null) Disconnect(wire.Conn)    {}
func (null) Handle(_ context.Context, _ wire.Conn, _ *wire.Message, r *wire.Reply) error {
	r.Body().Double("ok", 1)
	return nil
}

// departures signals each connection that has ended.
type departures struct {
	null
	ended chan struct{}
}

func (d departures) Disconnect(wire.Conn) { d.ended <- struct{}{} }

// TestReset checks that a connection which the client resets causes no warning in the log.
func TestReset(t *testing.T) {
	var log bytes.Buffer
	h := departures{ended: make(chan struct{}, 1)}
	s := New(h, Config{Log: zerolog.New(&log).Level(zerolog.WarnLevel), WatchEvery: time.Hour})
	c := dial(t, serve(t, s, "127.0.0.1:0", "main"))
	if _, err := c.nc.Write(wire.AppendMsg(nil, 1, 0, cmd("ping", 1))); err != nil {
		t.Fatal(err)
	}
	if err := c.r.Read(&wire.Message{}); err != nil {
		t.Fatal(err)
	}
	if err := c.nc.(*net.TCPConn).SetLinger(0); err != nil { // the close is a reset
		t.Fatal(err)
	}
	c.nc.Close()
	<-h.ended
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("the log says %s", log.String())
	}
}
