package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/address"
)

const pingHelp = `Checks whether a server answers, for health checks: exit status 0 if it does, 1 if not. No
login is needed; if the URI has one, the server must accept it. Of a replica set only the
server in the URI is checked.

URI is a connection string such as mongodb://127.0.0.1:27017/, which is also the default:
this machine's server is then contacted without TLS and, if it refuses that, through TLS
without verifying its certificate.
`

// Connection strings that ping uses without an argument.
const (
	pingPlain = "mongodb://127.0.0.1:27017/"
	pingTLS   = "mongodb://127.0.0.1:27017/?tls=true&tlsInsecure=true"
)

func pingVerb(f *pflag.FlagSet) action {
	limit := f.Duration("timeout", 5*time.Second, "maximum time to wait for an answer")
	return func(ctx context.Context, s Streams) error {
		uris := f.Args()
		switch len(uris) {
		case 0:
			uris = []string{pingPlain, pingTLS}
		case 1:
		default:
			return usageErrorf("expected one connection string, as in\n\n  cantle ping mongodb://127.0.0.1:27017/")
		}
		var errs []error
		for _, uri := range uris {
			text, err := ping(ctx, uri, *limit/time.Duration(len(uris)))
			if err == nil {
				fmt.Fprintln(s.Out, text)
				return nil
			}
			errs = append(errs, err)
		}
		return errs[0]
	}
}

// ping measures how fast one server answers, and returns a line with that time and the server's role, which the reply
// to hello has.
// Errors: a bad connection string; a login that the server refuses; errors of the driver, shortened.
func ping(ctx context.Context, uri string, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	srv, err := connect(uri, "cantle ping", directly)
	if err != nil {
		return "", err
	}
	defer srv.close()
	hello, err := srv.runCommand(ctx, "admin", command("hello"))
	if err != nil {
		return "", err
	}
	begun := time.Now()
	if _, err := srv.runCommand(ctx, "admin", command("ping")); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s answers in %s, as %s", address.Redact(address.URI(uri)), time.Since(begun).Round(10*time.Microsecond), roleOf(hello)), nil
}

// directly makes the driver connect only to the one server, or load balancer, of the connection string.
func directly(o *options.ClientOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o.Direct != nil || balanced(o) {
		return nil
	}
	if len(o.Hosts) != 1 {
		return errors.New("only one server can be checked at a time; give one host")
	}
	o.SetDirect(true)
	return nil
}

// roleOf returns the role of a server, such as mongos or primary, from its reply to hello.
func roleOf(hello bson.Raw) string {
	set, _ := hello.Get("setName").Str()
	switch {
	case set == "":
		return "mongos"
	case hello.Get("isWritablePrimary").Truthy():
		return "primary of " + set
	}
	return "member of " + set
}

// command returns a command without arguments.
func command(name string) bson.Raw {
	return bson.D{{name, 1}}.Doc()
}
