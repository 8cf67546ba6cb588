package console

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/serve/httplimit"
	"github.com/cantledb/cantle/wire/auth"
)

// policy is the Content-Security-Policy of the page: it loads only from this server, images also from data: URLs,
// sends no forms, and cannot be framed by another page.
const policy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

// guard refuses HTTP requests that are not meant for the console: POST requests from a page of another site, or of
// another content type than JSON; and, if the console's address cannot be reached from other machines, requests
// whose host name is neither localhost nor a loopback address. The last check prevents DNS rebinding: a foreign page
// whose name was bound to this address gets no answers. guard also sets the security headers of replies.
func (c *Console) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusForbidden, mongoerr.New(mongoerr.Unauthorized, "The request was sent by a page of another site"))
	}))
	all := asJSON(origins.Handler(next))
	if c.loopback {
		all = httplimit.OfThisMachine(all, func(w http.ResponseWriter, host string) {
			fail(w, http.StatusMisdirectedRequest, mongoerr.New(mongoerr.Unauthorized,
				"The console accepts only localhost and addresses of this machine as host name, not %q", host))
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		all.ServeHTTP(w, r)
	})
}

// asJSON refuses bodies whose content type is not JSON.
func asJSON(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			fail(w, http.StatusUnsupportedMediaType, mongoerr.New(mongoerr.BadValue, "The body of a request must be JSON: send Content-Type: application/json"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// open opens a connection to the server, without a network, for an HTTP request. If logins are required, the
// connection is logged in as the request's user, identified by a login cookie or by name and password in the request.
// Errors: Unauthorized (13) without a login; AuthenticationFailed (18).
func (c *Console) open(r *http.Request) (*localConn, error) {
	return c.openAs(r, func(in *localConn) error { return c.identify(in, r) })
}

// reopen opens a new connection for an HTTP request whose user logged in earlier, on the connection before. The new
// connection has the user's present privileges.
// Errors: Unauthorized (13) if the password was changed, or the user was dropped.
func (c *Console) reopen(r *http.Request, before *localConn) (*localConn, error) {
	return c.openAs(r, func(in *localConn) error { return in.adoptUser(before) })
}

// openAs opens a connection to the server, without a network, for an HTTP request. If logins are required, it calls
// identify, which logs in the request's user on the connection.
func (c *Console) openAs(r *http.Request, identify func(in *localConn) error) (*localConn, error) {
	remote, err := addressOf(r)
	if err != nil {
		return nil, err
	}
	in, err := c.connIDs.dial(c.Server, remote, c.local, r.TLS)
	if err != nil {
		return nil, err
	}
	if c.Server.RequireAuth {
		err = identify(in)
	}
	if err == nil {
		err = in.introduce(r.Context()) // also loads the user's present privileges
	}
	if err == nil && c.Server.RequireAuth && in.login() == nil {
		err = errNoLogin // the user was dropped
	}
	if err != nil {
		in.hangUp()
		return nil, err
	}
	return in, nil
}

// addressOf returns the client address of a request.
func addressOf(r *http.Request) (net.Addr, error) {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	return net.TCPAddrFromAddrPort(at), err
}

// identify logs in the user of an HTTP request on a connection: by name and password if the request has them,
// otherwise by the login of its cookie.
// Errors: Unauthorized (13) without a login; AuthenticationFailed (18).
func (c *Console) identify(in *localConn, r *http.Request) error {
	if name, password, ok := r.BasicAuth(); ok {
		db := r.URL.Query().Get("authSource")
		if db == "" {
			db = "admin"
		}
		return in.authenticate(r.Context(), auth.Name{Name: name, DB: db}, password)
	}
	known := c.sessions.find(r, time.Now())
	if known == nil {
		return errNoLogin
	}
	err := in.adoptUser(known)
	if err != nil {
		c.sessions.forget(r)
	}
	return err
}

// errNoLogin is the error of a request without a login.
var errNoLogin = mongoerr.New(mongoerr.Unauthorized, "Log in first: POST /api/v1/login, or send name and password (curl -u)")
