package daemon

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"

	"github.com/cantledb/cantle/wire/command"
)

// checkAddresses refuses to start a server without logins on an address that other machines can reach, unless
// --allow-open is set. At such an address, the metrics need --auth and TLS, or --allow-open, with which they need no
// login; and the console needs --auth and TLS even with --allow-open.
func checkAddresses(cfg *Config) error {
	private := cfg.Auth && cfg.TLSMode != "" && cfg.TLSMode != "disabled"
	if a := strings.TrimSpace(cfg.Console); a != "" && !onlyHere(a) && !private {
		return fmt.Errorf("other machines may reach %s, and the console shows and changes what its user may. "+
			"Let --console-listen be an address of this machine, such as 127.0.0.1:8080 (ssh -L brings it to yours), "+
			"or add --auth, so that users log in, and --tls-mode, so that their passwords are encrypted", a)
	}
	if cfg.Open {
		return nil
	}
	if m := strings.TrimSpace(cfg.Metrics); m != "" && !onlyHere(m) && !private {
		return fmt.Errorf("other machines may reach %s, and the metrics would need no login. "+
			"Let --metrics-listen be an address of this machine, such as 127.0.0.1:9216, add --auth and --tls-mode, "+
			"so that Prometheus logs in and its password is encrypted, or set --allow-open if that network is private", m)
	}
	if cfg.Auth {
		return nil
	}
	for _, a := range cfg.Addresses() {
		if a.Flag != "--metrics-listen" && a.Text != "" && !onlyHere(a.Text) {
			return fmt.Errorf("other machines may reach %s (%s), and without --auth they may read and change everything. "+
				"Add --auth (the first user can be created from this machine: db.createUser in admin), "+
				"listen on 127.0.0.1, or set --allow-open if that network is private", a.Text, a.Flag)
		}
	}
	return nil
}

// address returns the host and port by which clients reach the server: --advertise, or the first TCP address of
// --listen; "" if there is neither.
func (d *Daemon) address() string {
	if d.cfg.Advertise != "" {
		return d.cfg.Advertise
	}
	for _, a := range d.addrs {
		tcp, ok := a.(*net.TCPAddr)
		if !ok {
			continue
		}
		if tcp.IP.IsUnspecified() {
			return net.JoinHostPort(command.Hostname(), strconv.Itoa(tcp.Port))
		}
		return tcp.String()
	}
	return ""
}

// advertised returns the address of this server that clients and peers see, "" before the server listens.
func (d *Daemon) advertised() string {
	address, _ := d.advertisedAddr.Load().(string)
	return address
}

// onlyHere reports whether no other machine can reach the address: a Unix socket, localhost or a loopback address. It
// is also true for an address that is not host:port, because listening there fails.
func onlyHere(address string) bool {
	if strings.HasPrefix(address, "unix:") || strings.Contains(address, "/") {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true // listening reports the error
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// cannotListen returns an error for the operator: why the server cannot listen on the address of a flag, and what to
// do.
func cannotListen(flag, address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("another program listens on %s already; stop it, or choose another address with %s (port 0 picks a free one)", address, flag)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("this user may not listen on %s (ports below 1024 are for root); choose another address with %s", address, flag)
	}
	var bad *net.AddrError
	if errors.As(err, &bad) {
		return fmt.Errorf("%s %s: %s; an address is host:port, such as 127.0.0.1:27017", flag, address, bad.Err)
	}
	return fmt.Errorf("cannot listen on %s: %w; choose another address with %s", address, err, flag)
}
