package daemon

import (
	"fmt"
	"net"
	"strings"
)

// checkAddresses refuses to serve everybody who reaches the machine without asking
// for a login, unless that was asked for.
func checkAddresses(cfg *Config) error {
	if cfg.Open {
		return nil
	}
	if m := strings.TrimSpace(cfg.Metrics); m != "" && !onlyHere(m) {
		return fmt.Errorf("other machines may reach %s, and the metrics are shown to whoever asks. "+
			"Let --metrics-listen be an address of this machine, such as 127.0.0.1:9216, or say --allow-open if nobody else is on that network", m)
	}
	if cfg.Auth {
		return nil
	}
	for _, a := range append(strings.Split(cfg.Listen, ","), cfg.CosmosListen) {
		a = strings.TrimSpace(a)
		if a != "" && !onlyHere(a) {
			return fmt.Errorf("other machines may reach %s, and without --auth whoever does may read and change everything. "+
				"Add --auth (the first user can be made from this machine: db.createUser in admin), "+
				"listen on 127.0.0.1, or say --allow-open if nobody else is on that network", a)
		}
	}
	return nil
}

// onlyHere reports an address that no other machine can reach.
func onlyHere(address string) bool {
	if strings.HasPrefix(address, "unix:") || strings.Contains(address, "/") {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true // listening says what is wrong with it
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
