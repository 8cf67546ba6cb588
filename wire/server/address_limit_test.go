package server

import (
	"net"
	"testing"
	"time"
)

func address(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }

// TestPlaces checks that one address may open a limited number of connections in total and per second, with twice as
// many at once, that other addresses are not affected, and that unused addresses are removed after some time.
func TestPlaces(t *testing.T) {
	now := time.Unix(1000, 0)
	var ps addressLimits
	cfg := Config{AddressConnsMax: 3}
	for i := range 4 {
		if got := ps.enter(address("10.0.0.1"), &cfg, now); got != (i < 3) {
			t.Errorf("connection %d of 3: %v", i+1, got)
		}
	}
	if !ps.enter(address("10.0.0.2"), &cfg, now) || !ps.enter(&net.UnixAddr{}, &cfg, now) {
		t.Error("others are refused")
	}
	ps.leave(address("10.0.0.1"), &cfg)
	if !ps.enter(address("10.0.0.1"), &cfg, now) {
		t.Error("refused after one has gone")
	}

	ps, cfg = addressLimits{}, Config{RemoteRate: 10}
	for i := range 50 {
		if !ps.enter(address("127.0.0.1"), &cfg, now) || !ps.enter(address("::1"), &cfg, now) {
			t.Fatal("connection from this machine", i)
		}
		if got := ps.enter(address("10.0.0.1"), &cfg, now); got != (i < 20) {
			t.Errorf("connection %d from another machine: %v", i, got)
		}
	}

	ps, cfg = addressLimits{}, Config{AddressRate: 10}
	count := func(at time.Time) (n int) {
		for range 100 {
			if ps.enter(address("2001:db8::1"), &cfg, at) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 20}, {0, 0}, {time.Second, 10}, {time.Hour, 20}} {
		now = now.Add(c.after)
		if got := count(now); got != c.want {
			t.Errorf("%v later: %d, want %d", c.after, got, c.want)
		}
	}
	if ps.enter(address("2001:db8::ffff:1"), &cfg, now) {
		t.Error("the addresses of one /64 count apart")
	}
	for range 50 {
		ps.leave(address("2001:db8::1"), &cfg)
	}
	ps.sweep(&cfg, now.Add(time.Minute))
	if len(ps.byAddress) != 0 {
		t.Errorf("%d addresses are remembered", len(ps.byAddress))
	}
}

// TestTLSModes: names and modes correspond.
func TestTLSModes(t *testing.T) {
	for _, name := range []string{"disabled", "allowTLS", "preferTLS", "requireTLS"} {
		if m, err := ParseTLSMode(name); err != nil || m.String() != name {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	if _, err := ParseTLSMode("tls"); err == nil {
		t.Error("tls is a mode")
	}
}
