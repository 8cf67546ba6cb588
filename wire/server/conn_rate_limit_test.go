package server

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/cantledb/cantle/wire"
)

// TestConnRateLimiter checks that connections enter at once, wait for the right time, or are refused.
func TestConnRateLimiter(t *testing.T) {
	ts := &connRateLimiter{}
	now := time.Unix(1000, 0)
	enter := func(after time.Duration, wait time.Duration, ok bool) {
		t.Helper()
		now = now.Add(after)
		if gotWait, gotOK := ts.enter(now); gotWait != wait || gotOK != ok {
			t.Errorf("after %v: %v, %v; want %v, %v", after, gotWait, gotOK, wait, ok)
		}
	}
	enter(0, 0, true)
	ts.set(wire.ConnRateLimit{Enabled: true, PerSecond: 10, BurstSeconds: .2, QueueMax: 2}, now)
	enter(0, 0, true)
	enter(0, 0, true)
	enter(0, 100*time.Millisecond, true)
	enter(0, 200*time.Millisecond, true)
	enter(0, 0, false)
	if ts.queued != 2 || ts.refused != 1 {
		t.Errorf("%d wait, %d were refused; want 2 and 1", ts.queued, ts.refused)
	}
	ts.queued = 0 // they have entered
	enter(400*time.Millisecond, 0, true)
	enter(0, 0, true)
	enter(time.Hour, 0, true) // no more than a burst is saved
	enter(0, 0, true)
	enter(0, 100*time.Millisecond, true)
	waiting := ts.changed
	ts.set(wire.ConnRateLimit{}, now)
	select {
	case <-waiting:
	default:
		t.Error("who waits is not told of the change")
	}
	enter(0, 0, true)
}

// TestConnRateLimitSettings: new connections go through the connRateLimiter.
func TestConnRateLimitSettings(t *testing.T) {
	s, address := start(t, newStub(), Config{})
	s.SetConnRateLimit(wire.ConnRateLimit{Enabled: true, PerSecond: 1e-6, QueueMax: 1})
	first := dial(t, address)
	first.run("ping", 1)
	second := dial(t, address)
	second.send(wire.AppendMsg(nil, 1, 0, cmd("ping", 1)))
	waitFor(t, func() bool { return s.Stats().Queued > 0 })
	dial(t, address).closed()
	if st := s.Stats(); st.Current != 2 || st.TooFast != 1 {
		t.Errorf("%+v; want 2 connections and 1 refused", st)
	}
	s.SetConnRateLimit(wire.ConnRateLimit{})
	second.read()
	if st := s.Stats(); st.Queued != 0 {
		t.Errorf("%d still wait", st.Queued)
	}

	// A connection that waits ends with the server.
	s.SetConnRateLimit(wire.ConnRateLimit{Enabled: true, PerSecond: 1e-6, QueueMax: 1})
	dial(t, address)
	third := dial(t, address)
	waitFor(t, func() bool { return s.Stats().Queued > 0 })
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := third.r.Read(&wire.Message{}); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a connection that waits survives: %v", err)
	}
}
