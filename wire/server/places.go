package server

import (
	"net"
	"net/netip"
	"time"
)

// place is what is known of the clients of one address.
type place struct {
	conns  int
	tokens float64 // connections it may open now
	at     time.Time
}

// places counts connections by address. The caller guards it.
type places struct {
	now   map[netip.Addr]*place
	swept time.Time
}

// sweepEvery is how long addresses are remembered at least after their last
// connection.
const sweepEvery = 10 * time.Second

// placeOf is the address that a client counts by; ok is false for one without.
func placeOf(a net.Addr) (netip.Addr, bool) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	ip := t.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() {
		p, _ := ip.Prefix(64)
		ip = p.Addr()
	}
	return ip, true
}

// bounded reports whether addresses are counted at all.
func (c *Config) bounded() bool { return c.AddressConnsMax > 0 || c.AddressRate > 0 }

// enter counts a connection, or refuses it.
func (ps *places) enter(a net.Addr, cfg *Config, at time.Time) bool {
	ip, ok := placeOf(a)
	if !ok || !cfg.bounded() {
		return true
	}
	p := ps.now[ip]
	burst := float64(2 * cfg.AddressRate)
	if p == nil {
		if ps.now == nil {
			ps.now = map[netip.Addr]*place{}
		}
		p = &place{tokens: burst, at: at}
		ps.now[ip] = p
	}
	if cfg.AddressRate > 0 {
		p.tokens = min(burst, p.tokens+at.Sub(p.at).Seconds()*float64(cfg.AddressRate))
		p.at = at
		if p.tokens < 1 {
			return false
		}
	}
	if cfg.AddressConnsMax > 0 && p.conns >= cfg.AddressConnsMax {
		return false
	}
	p.tokens--
	p.conns++
	return true
}

// leave takes a connection out of the count.
func (ps *places) leave(a net.Addr, cfg *Config) {
	if ip, ok := placeOf(a); ok && cfg.bounded() {
		if p := ps.now[ip]; p != nil {
			p.conns--
		}
	}
}

// sweep forgets addresses without connections.
func (ps *places) sweep(cfg *Config, at time.Time) {
	if len(ps.now) == 0 || at.Sub(ps.swept) < sweepEvery {
		return
	}
	ps.swept = at
	for ip, p := range ps.now {
		if p.conns == 0 && at.Sub(p.at) > sweepEvery {
			delete(ps.now, ip)
		}
	}
}
