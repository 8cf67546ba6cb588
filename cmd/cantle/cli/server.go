package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/address"
	"github.com/cantledb/cantle/cmd/cantle/remote"
	"github.com/cantledb/cantle/cmd/cantle/top"
	"github.com/cantledb/cantle/serve/console"
)

// server is a verb's connection to a server.
type server struct {
	client     *mongo.Client
	uri        string
	waits      *waits // while the server throttles this verb
	limits     limits
	consoleRun console.RunCommand // used instead of client if a verb works for the console
}

// connect prepares a connection to the servers of a connection string, or of an address such as 127.0.0.1:27017; it
// does not wait for a server. verb is the application name that the server sees; each adjust changes the options of the
// connection string.
// Errors: usageError for a bad connection string, and for errors of adjust; errors of the DNS.
func connect(uri, verb string, adjust ...func(*options.ClientOptions) error) (*server, error) {
	uri = address.URI(uri)
	o := top.ClientOptions(uri, verb)
	for _, change := range adjust {
		if err := change(o); err != nil {
			return nil, badURI(uri, err)
		}
	}
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, badURI(uri, err)
	}
	return &server{client: client, uri: uri, waits: &waits{}}, nil
}

// badURI returns the error of a connection string without the string's secrets.
func badURI(uri string, err error) error {
	var name *net.DNSError
	err = address.WithoutSecrets(uri, err)
	if errors.As(err, &name) {
		return err
	}
	return usageError{err}
}

func (s *server) close() { s.client.Disconnect(context.Background()) }

// runCommand runs a command, and retries it while the server throttles it, within the time of ctx. Errors: errors of
// the driver, shortened; *stillThrottledError.
func (s *server) runCommand(ctx context.Context, db string, command bson.Raw) (bson.Raw, error) {
	if s.consoleRun != nil {
		raw, err := s.consoleRun(ctx, db, command)
		return bson.Raw(raw), err
	}
	send, cancel := driverContext(ctx, command)
	defer cancel()
	raw, err := s.waits.retry(ctx, func() ([]byte, error) {
		return s.client.Database(db).RunCommand(send, []byte(command)).Raw()
	})
	if err != nil {
		return nil, s.explain(err)
	}
	return bson.Parse(raw, bson.Limits{Depth: bson.MaxDepth + 1})
}

// driverContext returns the context with which the driver sends a command. For a getMore it is one without a deadline,
// which ends with ctx: from a deadline the driver makes a maxTimeMS, which servers refuse in the getMore of most cursors.
func driverContext(ctx context.Context, command bson.Raw) (context.Context, context.CancelFunc) {
	if first, ok := command.First(); !ok || string(first.Name) != "getMore" {
		return ctx, func() {}
	}
	send, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	return send, func() { stop(); cancel() }
}

// explain rewords a server's refusal or a timeout for users of the verbs: without codes, and without the password in
// the connection string. It returns other errors unchanged.
func (s *server) explain(err error) error {
	var refused mongo.CommandError
	switch {
	case errors.As(err, &refused) && refused.Code == remote.CommandNotFound:
		return fmt.Errorf("%s is not a cantle server: it has no customAction", address.Redact(s.uri))
	case errors.As(err, &refused) && refused.Code == remote.AuthenticationFailed:
		return address.NoLogin(s.uri)
	case errors.As(err, &refused) && refused.Code == 13:
		return &refusedError{refused.Message}
	case errors.As(err, &refused):
		return errors.New(refused.Message)
	case mongo.IsTimeout(err):
		return address.NoAnswer(s.uri, err)
	}
	return address.WithoutSecrets(s.uri, err)
}

// refusedError is the error of a command that the user may not run (code 13), with the server's message.
type refusedError struct{ message string }

func (e *refusedError) Error() string { return e.message }

// runOnce connects, runs one command and disconnects. While the server throttles the command, it shows that on errs.
func runOnce(ctx context.Context, uri, verb, db string, command bson.Raw, errs io.Writer) (bson.Raw, error) {
	s, err := connect(uri, verb)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.waits.showOn(errs)
	return s.runCommand(ctx, db, command)
}
