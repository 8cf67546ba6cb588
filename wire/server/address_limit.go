package server

import (
	"net"
	"net/netip"
	"time"
)

// addressLimit holds the number of connections from one client address, and the token bucket that limits how many
// this address opens per second.
type addressLimit struct {
	conns  int
	tokens float64 // connections that the address may open now
	at     time.Time
}

// addressLimits counts connections by address. The caller guards it.
type addressLimits struct {
	byAddress map[netip.Addr]*addressLimit
	swept     time.Time
}

// sweepEvery is the least time between two sweeps. An addressLimit without connections is kept at least as long after
// the last refill of its tokens.
const sweepEvery = 10 * time.Second

// addressKey returns the address under which a client's connections are counted: the IP address, or the /64 of an
// IPv6 address that is not loopback. ok is false for a client without an IP address.
func addressKey(a net.Addr) (netip.Addr, bool) {
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

// isLimited reports whether connections of an address are counted.
func (c *Config) isLimited(ip netip.Addr) bool { return c.AddressConnsMax > 0 || c.rateOf(ip) > 0 }

// rateOf returns how many connections an address may open per second; 0 means no limit. RemoteRate does not apply to
// loopback addresses.
func (c *Config) rateOf(ip netip.Addr) int {
	if c.AddressRate > 0 || ip.IsLoopback() {
		return c.AddressRate
	}
	return c.RemoteRate
}

// enter reports whether a connection may open, and counts it if so.
func (ps *addressLimits) enter(a net.Addr, cfg *Config, at time.Time) bool {
	ip, ok := addressKey(a)
	if !ok || !cfg.isLimited(ip) {
		return true
	}
	p, rate := ps.byAddress[ip], cfg.rateOf(ip)
	burst := float64(2 * rate)
	if p == nil {
		if ps.byAddress == nil {
			ps.byAddress = map[netip.Addr]*addressLimit{}
		}
		p = &addressLimit{tokens: burst, at: at}
		ps.byAddress[ip] = p
	}
	if rate > 0 {
		p.tokens = min(burst, p.tokens+at.Sub(p.at).Seconds()*float64(rate))
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

// leave uncounts a connection.
func (ps *addressLimits) leave(a net.Addr, cfg *Config) {
	if ip, ok := addressKey(a); ok && cfg.isLimited(ip) {
		if p := ps.byAddress[ip]; p != nil {
			p.conns--
		}
	}
}

// sweep removes addresses without connections.
func (ps *addressLimits) sweep(cfg *Config, at time.Time) {
	if len(ps.byAddress) == 0 || at.Sub(ps.swept) < sweepEvery {
		return
	}
	ps.swept = at
	for ip, p := range ps.byAddress {
		if p.conns == 0 && at.Sub(p.at) > sweepEvery {
			delete(ps.byAddress, ip)
		}
	}
}
