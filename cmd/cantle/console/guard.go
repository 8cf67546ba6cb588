package console

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
)

// policy is what the page may load: what comes from here, and nothing else. Forms go
// nowhere, and no other page may frame it.
const policy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

// guard lets those requests through that may be meant for the console: to a name of this
// machine, where no other machine reaches it, so that a foreign page whose name was bound
// to this address learns nothing; and not sent by a foreign page.
func (c *Console) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusForbidden, mongoerr.New(mongoerr.Unauthorized, "The request was sent by a page of another site"))
	}))
	inner := origins.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if c.loopback && !namesThisMachine(r.Host) {
			fail(w, http.StatusMisdirectedRequest, mongoerr.New(mongoerr.Unauthorized,
				"The console listens on this machine only and answers to localhost and its addresses, not to %q", r.Host))
			return
		}
		if r.Method == http.MethodPost && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			fail(w, http.StatusUnsupportedMediaType, mongoerr.New(mongoerr.BadValue, "The body of a request is JSON: say Content-Type: application/json"))
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// namesThisMachine reports the host of a request that can only be this machine.
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

// open opens a connection for a request in the name of its user, who is known by the cookie
// of a login or by name and password in the request.
// Errors: Unauthorized (13) for nobody; AuthenticationFailed (18).
func (c *Console) open(r *http.Request) (*caller, error) {
	remote, err := addressOf(r)
	if err != nil {
		return nil, err
	}
	in, err := c.callers.dial(c.Server, remote, c.local, r.TLS)
	if err != nil {
		return nil, err
	}
	if c.Server.RequireAuth {
		err = c.identify(in, r)
	}
	if err == nil {
		err = in.introduce(r.Context()) // which finds out as well what its user may do now
	}
	if err == nil && c.Server.RequireAuth && in.login() == nil {
		err = errNobody // the user was dropped
	}
	if err != nil {
		in.hangUp()
		return nil, err
	}
	return in, nil
}

// addressOf is where a request comes from.
func addressOf(r *http.Request) (net.Addr, error) {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return net.TCPAddrFromAddrPort(at), err
}

// identify makes a connection that of the user of a request.
// Errors: Unauthorized (13) for nobody; AuthenticationFailed (18).
func (c *Console) identify(in *caller, r *http.Request) error {
	if name, password, ok := r.BasicAuth(); ok {
		db := r.URL.Query().Get("authSource")
		if db == "" {
			db = "admin"
		}
		return in.prove(r.Context(), auth.Name{Name: name, DB: db}, password)
	}
	known := c.sessions.of(r, time.Now())
	if known == nil {
		return errNobody
	}
	in.enter(known)
	return nil
}

// errNobody is the error of a request without a login.
var errNobody = mongoerr.New(mongoerr.Unauthorized, "Log in first: POST /api/v1/login, or send name and password (curl -u)")
