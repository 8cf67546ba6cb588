package cosmos

import (
	"net/url"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// start starts a server with the Cosmos address and further flags.
func start(t *testing.T, args ...string) *harness.Server {
	t.Helper()
	return harness.Start(t, harness.Options{Args: append([]string{"--cosmos-listen", "127.0.0.1:0"}, args...)})
}

// connect opens a driver client for the test.
func connect(t *testing.T, uri string, more ...*options.ClientOptions) *mongo.Client {
	t.Helper()
	client, err := harness.Connect(uri, more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.Disconnect(client) })
	return client
}

// address returns the host:port in a connection string.
func address(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// dial opens a raw connection for the test.
func dial(t *testing.T, uri string) *harness.Conn {
	t.Helper()
	conn, err := harness.DialAddr(address(t, uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// run sends a command and returns its reply.
func run(t *testing.T, db *mongo.Database, command bson.D) bson.Raw {
	t.Helper()
	r, err := db.RunCommand(harness.Context(t), command).Raw()
	if err != nil {
		t.Fatalf("%v: %v", command[0], err)
	}
	return r
}

// d returns a document of alternating names and values.
func d(pairs ...any) bson.D {
	var out bson.D
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return out
}
