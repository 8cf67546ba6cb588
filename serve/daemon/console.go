package daemon

import (
	"context"
	"crypto/tls"

	"github.com/cantledb/cantle/serve/console"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/server"
)

// openConsole serves the console, if its address is set.
func (d *Daemon) openConsole(ctx context.Context, s *command.Server) error {
	if d.cfg.Console == "" {
		return nil
	}
	l, err := server.Listen(ctx, d.cfg.Console)
	if err != nil {
		return cannotListen("--console-listen", d.cfg.Console, err)
	}
	var config *tls.Config
	if d.tls.mode != server.TLSDisabled {
		config = &tls.Config{MinVersion: tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return d.tls.config(), nil }}
	}
	d.console = console.New(console.Config{
		Server: s, History: d.allHistory, Now: d.cluster.Now, Writable: d.cfg.ConsoleWrite, Tools: d.cfg.ConsoleTools,
		Ready: d.ready, Certificate: d.tls.shown,
	})
	d.console.Serve(l, onlyHere(d.cfg.Console), config, d.failed)
	at := d.console.URL()
	d.consoleAt.Store(&at)
	return nil
}

// ConsoleURL returns the URL of the console for a browser, "" if the server has no console.
func (d *Daemon) ConsoleURL() string {
	if at := d.consoleAt.Load(); at != nil {
		return *at
	}
	return ""
}
