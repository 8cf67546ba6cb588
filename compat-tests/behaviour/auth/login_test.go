package auth

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// dial returns a client of a server. At the end of the test the client is disconnected without waiting, because it
// may lack the privileges to end its sessions.
func dial(t *testing.T, uri string, o ...*options.ClientOptions) *mongo.Client {
	t.Helper()
	c, err := harness.Connect(uri, o...)
	bsontest.Must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Disconnect(ctx)
	})
	return c
}

// as returns a client that logs in.
func as(t *testing.T, s *harness.Server, c options.Credential, more ...*options.ClientOptions) *mongo.Client {
	t.Helper()
	return dial(t, s.URI, append([]*options.ClientOptions{options.Client().SetAuth(c).SetServerSelectionTimeout(5 * time.Second)}, more...)...)
}

// code returns the code of an error that the server returned, 18 for a failed login, 0 if err is nil, and -1 for any
// other error.
func code(err error) int {
	var server mongo.ServerError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &server):
		if codes := server.ErrorCodes(); len(codes) > 0 {
			return codes[0]
		}
	case strings.Contains(err.Error(), "AuthenticationFailed") || strings.Contains(err.Error(), "auth error"):
		return 18
	}
	return -1
}

func run(t *testing.T, c *mongo.Client, db string, cmd bson.D) error {
	t.Helper()
	return c.Database(db).RunCommand(harness.Context(t), cmd).Err()
}

// createRoot creates the first user, root. A client on the server's machine may do that without a login.
func createRoot(t *testing.T, c *mongo.Client) {
	t.Helper()
	bsontest.Must(t, run(t, c, "admin", bson.D{{Key: "createUser", Value: "root"}, {Key: "pwd", Value: "secret"}, {Key: "roles", Value: bson.A{"root"}}}))
}

var rootCredential = options.Credential{Username: "root", Password: "secret"}

// TestScram checks that users can log in by both SCRAM mechanisms, with the right password only, and can then do what
// their roles allow, including work of several commands such as cursors and transactions.
func TestScram(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	stranger := dial(t, s.URI)
	if got := code(run(t, stranger, "test", bson.D{{Key: "find", Value: "c"}})); got != 13 {
		t.Errorf("find by a stranger: %d", got)
	}
	createRoot(t, stranger)
	if got := code(run(t, stranger, "admin", bson.D{{Key: "createUser", Value: "x"}, {Key: "pwd", Value: "x"}, {Key: "roles", Value: bson.A{}}})); got != 13 {
		t.Errorf("a second user made by a stranger: %d", got)
	}
	root := as(t, s, rootCredential)
	bsontest.Must(t, run(t, root, "app", bson.D{{Key: "createUser", Value: "writer"}, {Key: "pwd", Value: "pass\u00adword"}, {Key: "roles", Value: bson.A{"readWrite"}}}))
	bsontest.Must(t, run(t, root, "app", bson.D{{Key: "createUser", Value: "reader"}, {Key: "pwd", Value: "r"}, {Key: "roles", Value: bson.A{"read"}}}))
	for _, mechanism := range []string{"", "SCRAM-SHA-1", "SCRAM-SHA-256"} {
		t.Run("mechanism="+mechanism, func(t *testing.T) {
			ctx := harness.Context(t)
			c := as(t, s, options.Credential{AuthMechanism: mechanism, AuthSource: "app", Username: "writer", Password: "pass\u00adword"})
			coll := c.Database("app").Collection("c")
			bsontest.Must(t, coll.Drop(ctx))
			for i := range 10 {
				_, err := coll.InsertOne(ctx, bson.D{{Key: "_id", Value: i}})
				bsontest.Must(t, err)
			}
			cur, err := coll.Find(ctx, bson.D{}, options.Find().SetBatchSize(3))
			bsontest.Must(t, err)
			var docs []bson.D
			bsontest.Must(t, cur.All(ctx, &docs))
			if len(docs) != 10 {
				t.Errorf("%d documents over several batches", len(docs))
			}
			session, err := c.StartSession()
			bsontest.Must(t, err)
			defer session.EndSession(ctx)
			_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
				return coll.UpdateMany(ctx, bson.D{}, bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: 1}}}})
			})
			bsontest.Must(t, err)
			if _, err := c.Database("other").Collection("c").InsertOne(ctx, bson.D{}); code(err) != 13 {
				t.Errorf("another database: %v", err)
			}
			wrong := []options.Credential{
				{AuthMechanism: mechanism, AuthSource: "app", Username: "writer", Password: "no"},
				{AuthMechanism: mechanism, AuthSource: "app", Username: "nobody", Password: "no"},
				{AuthMechanism: mechanism, AuthSource: "admin", Username: "writer", Password: "pass\u00adword"},
			}
			if mechanism != "" {
				wrong = wrong[:1] // the server delays each attempt
			}
			for _, wrong := range wrong {
				if err := run(t, as(t, s, wrong), "app", bson.D{{Key: "ping", Value: 1}}); code(err) != 18 {
					t.Errorf("%+v: %v", wrong, err)
				}
			}
		})
	}
	reader := as(t, s, options.Credential{AuthSource: "app", Username: "reader", Password: "r"})
	ctx := harness.Context(t)
	if n, err := reader.Database("app").Collection("c").CountDocuments(ctx, bson.D{}); n != 10 || err != nil {
		t.Errorf("a reader counts %d, %v", n, err)
	}
	if _, err := reader.Database("app").Collection("c").InsertOne(ctx, bson.D{}); code(err) != 13 {
		t.Errorf("a reader inserts: %v", err)
	}
	if _, err := reader.Database("app").Collection("c").Aggregate(ctx, bson.A{bson.D{{Key: "$out", Value: "d"}}}); code(err) != 13 {
		t.Errorf("a reader writes by $out: %v", err)
	}
	names, err := reader.ListDatabaseNames(ctx, bson.D{})
	if err != nil || len(names) != 1 || names[0] != "app" {
		t.Errorf("a reader's databases: %v, %v", names, err)
	}
}

// TestUsersSurvive checks that users exist after a restart of the server, and that a client without a login can then
// not create a first user again.
func TestUsersSurvive(t *testing.T) {
	o := harness.Options{Data: t.TempDir(), Args: []string{"--auth"}}
	s, err := harness.Launch(o)
	bsontest.Must(t, err)
	createRoot(t, dial(t, s.URI))
	bsontest.Must(t, s.Stop())
	s = harness.Start(t, o)
	bsontest.Must(t, run(t, as(t, s, rootCredential), "test", bson.D{{Key: "find", Value: "c"}}))
	if got := code(run(t, dial(t, s.URI), "admin", bson.D{{Key: "createUser", Value: "x"}, {Key: "pwd", Value: "x"}, {Key: "roles", Value: bson.A{}}})); got != 13 {
		t.Errorf("a first user where there is one: %d", got)
	}
}

// TestCosmosAccount checks that the name and the key of the account are a valid user and password on the Cosmos
// address, and nowhere else.
func TestCosmosAccount(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth", "--cosmos-listen", "127.0.0.1:0", "--cosmos-account", "shop", "--cosmos-key", "a+key/=="}})
	u, err := url.Parse(s.CosmosURI)
	bsontest.Must(t, err)
	if u.User != nil {
		t.Errorf("connection string %q has a key that the user gave", s.CosmosURI)
	}
	u.User = url.UserPassword("shop", "a+key/==")
	uri := u.String()
	c := dial(t, uri)
	_, err = c.Database("db").Collection("c").InsertOne(harness.Context(t), bson.D{{Key: "_id", Value: 1}})
	bsontest.Must(t, err)
	bsontest.Must(t, run(t, c, "db", bson.D{{Key: "customAction", Value: "GetCollection"}, {Key: "collection", Value: "c"}}))
	u.User = url.UserPassword("shop", "wrong")
	if err := run(t, dial(t, u.String()), "db", bson.D{{Key: "ping", Value: 1}}); code(err) != 18 {
		t.Errorf("a wrong key: %v", err)
	}
	if err := run(t, as(t, s, options.Credential{Username: "shop", Password: "a+key/=="}), "db", bson.D{{Key: "ping", Value: 1}}); code(err) != 18 {
		t.Errorf("the account on the other address: %v", err)
	}
}

// TestCosmosKeyShownOnce checks that the line that the server prints when it is ready contains the account's key only
// at the start that generates the key.
func TestCosmosKeyShownOnce(t *testing.T) {
	o := harness.Options{Data: t.TempDir(), Args: []string{"--auth", "--cosmos-listen", "127.0.0.1:0"}}
	s, err := harness.Launch(o)
	bsontest.Must(t, err)
	u, err := url.Parse(s.CosmosURI)
	bsontest.Must(t, err)
	bsontest.Must(t, run(t, dial(t, s.CosmosURI), "db", bson.D{{Key: "ping", Value: 1}}))
	made := u.User
	bsontest.Must(t, s.Stop())
	s = harness.Start(t, o)
	u, err = url.Parse(s.CosmosURI)
	bsontest.Must(t, err)
	if key, _ := made.Password(); key == "" || u.User != nil || strings.Contains(s.Log(), key) {
		t.Errorf("the key %q is shown again: %q", key, s.CosmosURI)
	}
	u.User = made
	bsontest.Must(t, run(t, dial(t, u.String()), "db", bson.D{{Key: "ping", Value: 1}}))
}
