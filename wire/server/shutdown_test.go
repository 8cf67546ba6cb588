package server

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/cantledb/cantle/wire"
)

// TestShutdownDrains checks that Shutdown closes idle connections, and that a running command finishes and its reply
// arrives.
func TestShutdownDrains(t *testing.T) {
	h := newStub()
	s, addr := start(t, h, Config{})
	idle, busy := dial(t, addr), dial(t, addr)
	idle.run("ping", 1)
	busy.send(wire.AppendMsg(nil, 1, 0, cmd("finish", 1)))
	<-h.started
	done := make(chan error)
	go func() { done <- s.Shutdown(context.Background()) }()
	idle.closed()
	select {
	case err := <-done:
		t.Fatalf("Shutdown returned %v before the command ended", err)
	default:
	}
	close(h.release)
	if m := busy.read(); num(m, "ok") != 1 {
		t.Errorf("%+v", m)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	busy.closed()
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("still accepting")
	}
}

// TestShutdownInterrupts checks that Shutdown interrupts commands when its context ends, and that their clients still
// receive the reply.
func TestShutdownInterrupts(t *testing.T) {
	h := newStub()
	s, addr := start(t, h, Config{})
	c := dial(t, addr)
	c.send(wire.AppendMsg(nil, 1, 0, cmd("wait", 1)))
	<-h.started
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); err != context.Canceled {
		t.Error(err)
	}
	if err := <-h.causes; err != wire.ErrShutdown {
		t.Errorf("cause %v", err)
	}
	if m := c.read(); num(m, "ok") != 1 {
		t.Errorf("%+v", m)
	}
	c.closed()
}

// TestQuiesce checks that during Quiesce commands can see that the server stops, that it still serves all commands,
// also on new connections, and that Quiesce returns when nothing but hello has arrived for some time.
func TestQuiesce(t *testing.T) {
	h := newStub()
	s, addr := start(t, h, Config{})
	idle, busy := dial(t, addr), dial(t, addr)
	busy.send(wire.AppendMsg(nil, 1, 0, cmd("finish", 1)))
	<-h.started
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan struct{})
	go func() {
		Quiesce(ctx, s, 50*time.Millisecond)
		close(done)
	}()
	<-s.stopping.Done()
	var why wire.Stopping
	if until, _ := ctx.Deadline(); !errors.As(context.Cause(s.stopping), &why) || !why.Until.Equal(until) {
		t.Errorf("commands are told %v", context.Cause(s.stopping))
	}
	idle.run("ping", 1)
	dial(t, addr).run("ping", 1)
	select {
	case <-done:
		t.Error("it does not wait for a command that runs")
	default:
	}
	close(h.release)
	busy.read()
	for waiting := true; waiting; {
		idle.run("hello", 1)
		select {
		case <-done:
			waiting = false
		default:
		}
	}
	if ctx.Err() != nil {
		t.Error("it waits for hello")
	}
	idle.run("ping", 1)
}

// TestShutdownEndsStreams checks that Shutdown does not wait for a command that answers an exhaust request: drivers
// keep a hello of ten seconds running all the time.
func TestShutdownEndsStreams(t *testing.T) {
	h := newStub()
	s, addr := start(t, h, Config{})
	c := dial(t, addr)
	c.send(wire.AppendMsg(nil, 1, wire.ExhaustAllowed, cmd("wait", 1)))
	<-h.started
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-h.causes; err != wire.ErrShutdown {
		t.Errorf("cause %v", err)
	}
}
