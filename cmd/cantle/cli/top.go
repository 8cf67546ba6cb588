package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/cmd/cantle/top"
)

func topVerb(f *pflag.FlagSet) action {
	var o top.Options
	o.Flags(f)
	return func(ctx context.Context, s Streams) error {
		if f.NArg() != 1 {
			return wrong("expected the address of a console or a connection string, as in\n\n  cantle top http://127.0.0.1:8080/")
		}
		c, err := consoleOf(ctx, f.Arg(0))
		if err != nil {
			return err
		}
		return top.Show(ctx, c, o, s.In, s.Out)
	}
}

// consoleOf makes a client of the console that a URI names, or of that of the server which it
// names. Errors: a bad address; a server without a console.
func consoleOf(ctx context.Context, uri string) (*top.Client, error) {
	if strings.HasPrefix(uri, "http") {
		return top.NewClient(uri, top.Login{}, nil)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	reply, err := askOnce(ctx, uri, "cantle top", "admin", command("getCmdLineOpts"))
	if err != nil {
		return nil, err
	}
	parsed, _ := reply.Get("parsed").Doc()
	network, _ := parsed.Get("net").Doc()
	at, ok := network.Get("console").Str()
	if !ok {
		return nil, fmt.Errorf("%s has no console: start it with --console-listen 127.0.0.1:8080", redact(uri))
	}
	o := options.Client().ApplyURI(uri)
	var login top.Login
	if a := o.Auth; a != nil {
		login = top.Login{User: a.Username, Password: a.Password, Source: a.AuthSource}
	}
	return top.NewClient(at, login, o.TLSConfig, o.Hosts...)
}
