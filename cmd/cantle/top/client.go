package top

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/cantledb/cantle/cmd/cantle/address"
)

// Login has the credentials of a user of the console; the zero Login is for a console without logins.
type Login struct{ User, Password, Source string }

// Client sends requests to a console.
type Client struct {
	base  string // ends with a slash
	login Login
	http  http.Client
}

// AddressError is a bad address of a console or a server.
type AddressError struct{ error }

// requestTimeout is the timeout of a request to the console, replyMax the maximum size of a reply in bytes.
const (
	requestTimeout = 10 * time.Second
	replyMax       = 64 << 20
)

// NewClient makes a client of the console at the address base. config is the configuration of TLS, and may be nil. If
// a server has returned the address, hosts are the hosts by which this client reaches that server.
// Errors: AddressError; an address that cannot be reached from here.
func NewClient(base string, login Login, config *tls.Config, hosts ...string) (*Client, error) {
	base, err := reachable("console", base, hosts)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, &AddressError{fmt.Errorf("%q is not the address of a console, such as http://127.0.0.1:8080/", address.Redact(base))}
	}
	if u.User != nil {
		login.User = u.User.Username()
		login.Password, _ = u.User.Password()
		u.User = nil
	}
	if s := u.Query().Get("authSource"); s != "" {
		login.Source = s
	}
	u.RawQuery, u.Fragment = "", ""
	u.Path = "/"
	return &Client{base: u.String(), login: login,
		http: http.Client{Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}}, nil
}

// get sends a request to one path of the console's API, and decodes the reply into out.
// Errors: errors of the server; no answer.
func (c *Client) get(ctx context.Context, path string, args url.Values, out any) error {
	if c.login.Source != "" {
		args.Set("authSource", c.login.Source)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"api/v1/"+path+"?"+args.Encode(), nil)
	if err != nil {
		return err
	}
	if c.login.User != "" {
		r.SetBasicAuth(c.login.User, c.login.Password)
	}
	reply, err := c.http.Do(r)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return fmt.Errorf("no console answers at %s: %w; start the server with --console-listen 127.0.0.1:8080", c.base, err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, replyMax))
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		var said struct{ Error struct{ Message string } }
		if json.Unmarshal(text, &said) != nil || said.Error.Message == "" {
			return fmt.Errorf("%s answers %s: is that the console of a cantle server?", c.base, reply.Status)
		}
		if reply.StatusCode == http.StatusUnauthorized && c.login.User == "" {
			return errors.New("the server requires a login: put user:password@ before the host of the address, as in http://ada:secret@127.0.0.1:8080/")
		}
		return errors.New(said.Error.Message)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s does not answer like a console: %w", c.base, err)
	}
	return nil
}

// The replies of the console's API, with the fields that are used here; docs/console.md has all fields.
type (
	about struct {
		Version, Compat, User string
		Load                  bool
	}
	lines struct {
		Step, From                                                              int64
		RU, Provisioned, Busiest, Reads, Writes, Refused, Failed, KiB, P50, P99 []float64
		Connections                                                             []float64
	}
	heat struct {
		Step, From   int64
		Columns      int
		Metric       string
		Least, Ratio float64
		Rows         []heatRow
		Pattern      struct{ Kind, Text string }
	}
	heatRow struct {
		Partition  int
		Collection uint64
		NS         string
		First      int64
		Until      int64
		From, To   float64
		Cells      []byte
	}
	warnings struct {
		Warnings []struct{ Kind, NS, Text string }
	}
	requests struct {
		Requests []struct {
			NS, Command, Filter, Sort string
			RU, RUPercent, RUAverage  float64
			MillisAverage             float64
			Count                     json.Number
			Callers                   []caller
		}
	}
	caller struct {
		AppName, Driver, User string
		RecentPercent         float64
	}
	event struct {
		At             int64
		Kind, NS, Text string
	}
)

// picture holds the data of a screen.
type picture struct {
	Server   about
	Lines    lines
	Heat     heat
	Warnings warnings
	Requests requests
	Events   []event
}

// fetchPicture requests all data of a screen.
func (c *Client) fetchPicture(ctx context.Context, v *view) (*picture, error) {
	p := &picture{}
	into := map[string]any{"server": &p.Server, "lines": &p.Lines, "heat": &p.Heat, "warnings": &p.Warnings, "requests": &p.Requests, "events": &p.Events}
	return p, c.fetch(ctx, v, func(path string) any { return into[path] })
}

// raw requests the same data as fetchPicture, undecoded.
func (c *Client) raw(ctx context.Context, v *view) (map[string]*json.RawMessage, error) {
	out := map[string]*json.RawMessage{}
	return out, c.fetch(ctx, v, func(path string) any {
		out[path] = new(json.RawMessage)
		return out[path]
	})
}

// fetch requests each part of a picture (one screen of cantle top) from the console. into returns the place for the
// reply of a path.
// Errors: errors of the server.
func (c *Client) fetch(ctx context.Context, v *view, into func(path string) any) error {
	past := fmt.Sprint(-v.span)
	with := func(more ...string) url.Values {
		out := url.Values{}
		if v.ns != "" {
			out.Set("ns", v.ns)
		}
		for i := 0; i < len(more); i += 2 {
			out.Set(more[i], more[i+1])
		}
		return out
	}
	for _, part := range []struct {
		path string
		args url.Values
	}{
		{"server", url.Values{}}, {"lines", url.Values{"from": {past}}}, {"heat", with("from", past, "metric", v.metric())},
		{"warnings", url.Values{}}, {"requests", with("top", "20")}, {"events", with("from", past)},
	} {
		if err := c.get(ctx, part.path, part.args, into(part.path)); err != nil {
			return err
		}
	}
	return nil
}

// Fetch requests one path of the console's API, such as "lines", and returns the reply as it is.
// Errors: errors of the server; no answer.
func (c *Client) Fetch(ctx context.Context, path string, args url.Values) (json.RawMessage, error) {
	var out json.RawMessage
	if args == nil {
		args = url.Values{}
	}
	err := c.get(ctx, path, args, &out)
	return out, err
}
