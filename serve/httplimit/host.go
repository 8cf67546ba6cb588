package httplimit

import (
	"net"
	"net/http"
	"strings"
)

// OfThisMachine returns an HTTP handler for an address that no other machine can reach: it refuses requests whose
// host name is neither localhost nor a loopback address. This prevents DNS rebinding: a foreign page whose name was
// bound to the address gets no answers.
func OfThisMachine(next http.Handler, refuse func(w http.ResponseWriter, host string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !namesThisMachine(r.Host) {
			refuse(w, r.Host)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// namesThisMachine reports whether the host name of an HTTP request can only mean this machine: localhost or a
// loopback address.
func namesThisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
