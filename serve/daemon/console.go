package daemon

import (
	"context"

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
	d.console = console.New(console.Config{
		Server: s, History: d.allHistory, Now: d.cluster.Now, Writable: d.cfg.ConsoleWrite, Tools: d.cfg.ConsoleTools,
		Ready: d.ready, Certificate: d.tls.shown, ErrorLog: d.httpErrors("console"),
	})
	d.console.Serve(l, onlyHere(d.cfg.Console), d.tls.ofHTTP(), d.failed)
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
