package cli

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/cmd/cantle/address"
	"github.com/cantledb/cantle/serve/console"
)

// server is a verb's connection to a server.
type server struct {
	client     *mongo.Client
	uri        string
	consoleRun console.RunCommand // used instead of client if a verb works for the console
}

// connect prepares a connection to the servers of a connection string, or of an address such as 127.0.0.1:27017; it
// does not wait for a server. verb is the
// application name that the server sees; each adjust changes the options of the connection string.
// Errors: a bad connection string; errors of adjust.
func connect(uri, verb string, adjust ...func(*options.ClientOptions) error) (*server, error) {
	uri = address.URI(uri)
	o := options.Client().ApplyURI(uri).SetAppName(verb)
	for _, change := range adjust {
		if err := change(o); err != nil {
			return nil, err
		}
	}
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, err
	}
	return &server{client: client, uri: uri}, nil
}

func (s *server) close() { s.client.Disconnect(context.Background()) }

// runCommand runs a command. Errors: errors of the driver, shortened.
func (s *server) runCommand(ctx context.Context, db string, command bson.Raw) (bson.Raw, error) {
	if s.consoleRun != nil {
		raw, err := s.consoleRun(ctx, db, command)
		return bson.Raw(raw), err
	}
	raw, err := s.client.Database(db).RunCommand(ctx, []byte(command)).Raw()
	if err != nil {
		return nil, s.explain(err)
	}
	return bson.Parse(raw, bson.Limits{Depth: bson.MaxDepth + 1})
}

// explain rewords a server's refusal or a timeout for users of the verbs: without codes, and without the password in
// the connection string. It returns other errors unchanged.
func (s *server) explain(err error) error {
	var refused mongo.CommandError
	switch {
	case errors.As(err, &refused) && refused.Code == 59:
		return fmt.Errorf("%s is not a cantle server: it has no customAction", address.Redact(s.uri))
	case errors.As(err, &refused) && refused.Code == 13:
		return &refusedError{refused.Message}
	case errors.As(err, &refused):
		return errors.New(refused.Message)
	case mongo.IsTimeout(err):
		return address.NoAnswer(s.uri, err)
	}
	return err
}

// refusedError is the error of a command that the user may not run (code 13), with the server's message.
type refusedError struct{ message string }

func (e *refusedError) Error() string { return e.message }

// runOnce connects, runs one command and disconnects.
func runOnce(ctx context.Context, uri, verb, db string, command bson.Raw) (bson.Raw, error) {
	s, err := connect(uri, verb)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.runCommand(ctx, db, command)
}
