package console

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/cantledb/cantle/serve/visitors"
	"github.com/cantledb/cantle/shard/history"
	"github.com/cantledb/cantle/wire/command"
)

// Config is what a Console is made of.
type Config struct {
	Server  *command.Server
	History *history.Everywhere
	// Now is the clock of the budgets and of the history.
	Now func() time.Time
	// Writable lets users change documents, as far as their roles allow.
	Writable bool
	// Ready says why the server takes no commands, nil if it does; nil = it always does.
	Ready func() error
	// Certificate is the one that the server shows, nil without TLS; a nil func is the same.
	Certificate func() *x509.Certificate
	// Tools are lent from the command line.
	Tools
}

// Ask runs a command on a database, in the name of who asks.
type Ask func(ctx context.Context, db string, command []byte) ([]byte, error)

// Tools are programs that the console lends from the command line; nil is missing.
type Tools struct {
	// Advise ranks the shard keys that a collection could have, and returns its text.
	Advise func(ctx context.Context, ask Ask, namespace string) (string, error)
	// Estimate prices a workload on documents like one sample, and returns its text. args are
	// flags of cantle estimate.
	Estimate func(ctx context.Context, args []string, document string) (string, error)
}

// Console answers browsers and programs over HTTP. Safe for concurrent use.
type Console struct {
	Config
	callers  callers
	sessions sessions
	viewers  chan struct{} // a place for each live stream
	frames   frames
	local    net.Addr
	loopback bool // nobody from another machine reaches it
	secure   bool // it speaks TLS
	server   *http.Server
}

// Bounds of what strangers can make the console hold.
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

// Serve answers on a listener until Stop. config is that of TLS, nil without. loopback says
// that other machines cannot reach the listener. The error of a listener that breaks is told
// to failed.
func (c *Console) Serve(l net.Listener, loopback bool, config *tls.Config, failed chan<- error) {
	c.local, c.loopback, c.secure = l.Addr(), loopback, config != nil
	l = visitors.Limit(l)
	if config != nil {
		l = tls.NewListener(l, ofBrowsers(config))
	}
	c.server = &http.Server{Handler: c.guarded(c.Handler()), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: 5 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	go func() {
		if err := c.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
}

// ofBrowsers is a configuration of TLS with which browsers speak HTTP/2: over one connection they
// keep a live stream open and ask besides, as often as they like.
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

// URL is where a browser finds the page.
func (c *Console) URL() string {
	if c.secure {
		return "https://" + c.local.String() + "/"
	}
	return "http://" + c.local.String() + "/"
}

// Stop ends the console: live streams at once, other answers may be finished until ctx ends.
func (c *Console) Stop(ctx context.Context) error {
	c.sessions.end()
	if err := c.server.Shutdown(ctx); err != nil {
		return c.server.Close()
	}
	return nil
}
