package console

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/cantledb/cantle/serve/httplimit"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/wire/command"
)

// Config holds the parts and settings of a Console.
type Config struct {
	Server  *command.Server
	History *history.AllServers
	// Now is the clock of the budgets and of the history.
	Now func() time.Time
	// Writable lets users change documents, as far as their roles allow.
	Writable bool
	// Ready returns why the server does not accept commands at present, nil if it does. A nil func means that the
	// server always does.
	Ready func() error
	// Certificate returns the server's certificate, whose expiry the console warns of; nil without TLS. A nil func
	// means that there is no TLS.
	Certificate func() *x509.Certificate
	// ErrorLog receives the errors of the HTTP server; nil = the log of package log.
	ErrorLog *log.Logger
	// Tools are functions of the command line.
	Tools
}

// RunCommand runs a command on a database as the console's logged-in user. command and the reply are BSON documents.
type RunCommand func(ctx context.Context, db string, command []byte) ([]byte, error)

// Tools are functions of the command line that the console offers as well. A function that is nil is not offered.
type Tools struct {
	// Advise ranks the possible shard keys of a collection, as cantle advise does, and returns the text of the
	// ranking. run reads the data.
	Advise func(ctx context.Context, run RunCommand, namespace string) (string, error)
	// Estimate computes the cost of a workload on documents like the given one, and returns the text that cantle
	// estimate prints. args are flags of cantle estimate.
	Estimate func(ctx context.Context, args []string, document string) (string, error)
	// Docs returns the files of the documentation by their paths below /docs/. It is called once, for the first
	// request of one of them.
	Docs func() (map[string][]byte, error)
}

// Console answers browsers and programs over HTTP. Safe for concurrent use.
type Console struct {
	Config
	connIDs  connIDs
	sessions sessions
	viewers  chan struct{} // a semaphore of live streams
	frames   frames
	answers  sharedAnswers
	local    net.Addr
	loopback bool // no other machine can reach it
	secure   bool // it uses TLS
	server   *http.Server
}

// Limits of the resources that HTTP clients without a login can make the console hold.
const (
	viewersMax = 64      // live streams at a time
	bodyMax    = 1 << 20 // bytes of a request
)

// New makes a Console that does not listen yet.
func New(cfg Config) *Console {
	if cfg.Ready == nil {
		cfg.Ready = func() error { return nil }
	}
	return &Console{Config: cfg, viewers: make(chan struct{}, viewersMax), sessions: sessions{list: map[[32]byte]*session{}}}
}

// Serve serves HTTP on a listener in the background until Stop is called. config is the configuration of TLS, nil
// without TLS. loopback means that other machines cannot reach the listener. If the listener breaks, Serve sends the
// error to failed.
func (c *Console) Serve(l net.Listener, loopback bool, config *tls.Config, failed chan<- error) {
	c.local, c.loopback, c.secure = l.Addr(), loopback, config != nil
	l = httplimit.Limit(l)
	if config != nil {
		l = tls.NewListener(l, ofBrowsers(config))
	}
	c.server = &http.Server{Handler: c.logPanics(c.Handler()), ErrorLog: c.ErrorLog, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 5 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	go func() {
		if err := c.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
}

// ofBrowsers returns a copy of a TLS configuration that offers HTTP/2: over one connection, browsers can then keep a
// live stream open and send any number of requests.
func ofBrowsers(config *tls.Config) *tls.Config {
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	if get := config.GetConfigForClient; get != nil {
		config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			now, err := get(h)
			if now == nil || err != nil {
				return now, err
			}
			return ofBrowsers(now), nil
		}
	}
	return config
}

// URL returns the address of the page.
func (c *Console) URL() string {
	if c.secure {
		return "https://" + c.local.String() + "/"
	}
	return "http://" + c.local.String() + "/"
}

// Stop ends the console: logins and live streams at once; other requests may finish until ctx ends.
func (c *Console) Stop(ctx context.Context) error {
	c.sessions.end()
	if err := c.server.Shutdown(ctx); err != nil {
		return c.server.Close()
	}
	return nil
}
