package console

import (
	"net/http"
	"time"

	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/wire/auth"
)

// aboutReply holds what the page needs first.
type aboutReply struct {
	Version string   `json:"version"`
	Compat  string   `json:"compat"`
	Prices  string   `json:"prices"` // name and version of the price list
	Auth    bool     `json:"auth"`   // users have to log in
	User    string   `json:"user"`   // "name@db", "" without a login
	Roles   []string `json:"roles"`
	Write   bool     `json:"write"`  // documents may be changed
	Load    bool     `json:"load"`   // the user may see the load of the server
	Second  int64    `json:"second"` // by the server's clock
	Started int64    `json:"started"`
	// Docs reports whether the documentation is under /docs/.
	Docs bool `json:"docs"`
	// Virtual reports whether the server's clock is stopped, for tests.
	Virtual bool `json:"virtual"`
}

// about describes the server to the page (version, price list, whether users log in), and, if the request has a
// connection, the user and what that user may do.
func (c *Console) about(q *query) (any, error) {
	s := c.Server
	out := aboutReply{Version: s.Version, Compat: s.Release.String(), Prices: s.Cluster.Budgets.PriceList().String(), Auth: s.RequireAuth,
		Roles: []string{}, Second: c.Now().Unix(), Started: s.Started.Unix(), Docs: c.Docs != nil, Virtual: s.Cluster.Budgets.Clock.Stopped()}
	if q.conn == nil {
		return out, nil
	}
	out.Write, out.Load = c.Writable, q.mayLoad() == nil
	if l := q.conn.login(); l != nil {
		out.User = l.Name.String()
		for _, r := range l.Roles {
			out.Roles = append(out.Roles, r.String())
		}
	}
	return out, nil
}

// logIn checks a user's password by SCRAM, and begins a login.
func (c *Console) logIn(q *query) (any, error) {
	if !c.Server.RequireAuth {
		return nil, mongoerr.New(mongoerr.BadValue, "The server was started without --auth: no login is needed")
	}
	n := auth.Name{Name: q.text("user"), DB: q.text("db")}
	if n.DB == "" {
		n.DB = "admin"
	}
	if n.Name == "" {
		return nil, mongoerr.New(mongoerr.BadValue, "user is the name of a user")
	}
	remote, err := addressOf(q.Request)
	if err != nil {
		return nil, err
	}
	in, err := c.connIDs.dial(c.Server, remote, c.local, q.TLS)
	if err != nil {
		return nil, err
	}
	if err := in.authenticate(q.Context(), n, q.text("password")); err != nil {
		in.hangUp()
		return nil, err
	}
	http.SetCookie(q.w, c.cookie(c.sessions.add(in, time.Now())))
	fresh := *q
	fresh.conn = in
	return c.about(&fresh)
}

// logOut ends the login.
func (c *Console) logOut(q *query) (any, error) {
	c.sessions.forget(q.Request)
	http.SetCookie(q.w, c.cookie(""))
	return struct{}{}, nil
}
