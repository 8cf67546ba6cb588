package tools

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// toolCommand is a command that a tool sends, with the fields that the tool reads in the reply.
type toolCommand struct {
	db, command string // the command in the notation of case files

	// numbers and others are paths, separated by spaces, that the reply must have: those of numbers with numbers or
	// dates, those of others with values of any type. The comment of find has the notation.
	numbers, others string

	on string // the only variant that it applies to, "" for all
	no int32  // the error code of the expected refusal, in which case no field is read; 0 if the command must succeed
}

// The variants of the server: the deployment that it appears as.
const (
	router = "mongos"      // without flags
	member = "replica set" // --replica-set
)

// start starts a server with authentication, as the given variant (mongos or replica set), and fills it. It returns a
// client of root, and one of a user with the given roles.
func start(t *testing.T, variant string, roles bson.A) (root, user *mongo.Client) {
	t.Helper()
	args := []string{"--auth"}
	if variant == member {
		args = append(args, "--replica-set", "rs0")
	}
	s := harness.Start(t, harness.Options{Args: args})
	first := s.Client(t)
	admin := first.Database("admin")
	bsontest.Must(t, admin.RunCommand(t.Context(), bson.D{{Key: "createUser", Value: "owner"}, {Key: "pwd", Value: "secret"}, {Key: "roles", Value: bson.A{"root"}}}).Err())
	root = s.Client(t, options.Client().SetAuth(options.Credential{Username: "owner", Password: "secret"}))
	bsontest.Must(t, root.Database("admin").RunCommand(t.Context(), bson.D{{Key: "createUser", Value: "watcher"}, {Key: "pwd", Value: "other"}, {Key: "roles", Value: roles}}).Err())
	user = s.Client(t, options.Client().SetAuth(options.Credential{Username: "watcher", Password: "other"}))
	fill(t, root)
	return root, user
}

// fill creates the collection shop.orders with an index, the sharded collection shop.parts, a view and some profiled
// operations, so that tools have something to show.
func fill(t *testing.T, c *mongo.Client) {
	t.Helper()
	ctx := t.Context()
	shop := c.Database("shop")
	var docs []any
	for i := range 100 {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "customer", Value: i % 7}, {Key: "text", Value: strings.Repeat("x", 100)}})
	}
	_, err := shop.Collection("orders").InsertMany(ctx, docs)
	bsontest.Must(t, err)
	_, err = shop.Collection("orders").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "customer", Value: 1}}})
	bsontest.Must(t, err)
	bsontest.Must(t, c.Database("admin").RunCommand(ctx, bson.D{{Key: "shardCollection", Value: "shop.parts"}, {Key: "key", Value: bson.D{{Key: "_id", Value: "hashed"}}}}).Err())
	_, err = shop.Collection("parts").InsertOne(ctx, bson.D{{Key: "_id", Value: 1}})
	bsontest.Must(t, err)
	bsontest.Must(t, shop.CreateView(ctx, "few", "orders", mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "customer", Value: 1}}}}}))
	bsontest.Must(t, shop.RunCommand(ctx, bson.D{{Key: "profile", Value: 2}}).Err())
	bsontest.Must(t, shop.Collection("orders").FindOne(ctx, bson.D{{Key: "customer", Value: 3}}).Err())
	bsontest.Must(t, shop.RunCommand(ctx, bson.D{{Key: "profile", Value: 0}}).Err())
}

// try sends the command and checks the fields.
func (a *toolCommand) try(t *testing.T, c *mongo.Client) {
	reply, err := run(t.Context(), c, a.db, a.command)
	if a.no != 0 {
		if refused, ok := err.(mongo.CommandError); !ok || refused.Code != a.no {
			t.Errorf("answered %v %v, not error %d", reply, err, a.no)
		}
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	for path := range strings.FieldsSeq(a.numbers) {
		if v, err := find(reply, path); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if _, ok := number(v); !ok {
			t.Errorf("%s is %v, not a number", path, v)
		}
	}
	for path := range strings.FieldsSeq(a.others) {
		if _, err := find(reply, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if t.Failed() {
		t.Logf("the reply was %v", reply)
	}
}

// run sends a command in the shell's notation.
func run(ctx context.Context, c *mongo.Client, db, command string) (bson.Raw, error) {
	cmd, err := ejson.Parse(command)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	return c.Database(db).RunCommand(ctx, bson.Raw(cmd)).Raw()
}

// find returns the value at a dotted path in a reply. In the parts of the path, a colon stands for a dot, and an
// underscore may also match a space.
func find(reply bson.Raw, path string) (bson.RawValue, error) {
	parts := strings.Split(path, ".")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], ":", ".")
	}
	v, err := reply.LookupErr(parts...)
	if err != nil {
		for i := range parts {
			parts[i] = strings.ReplaceAll(parts[i], "_", " ")
		}
		v, err = reply.LookupErr(parts...)
	}
	return v, err
}

// prefixed adds a prefix to every path.
func prefixed(prefix, paths string) string {
	return prefix + strings.Join(strings.Fields(paths), " "+prefix)
}

// number returns a number or date as an integer.
func number(v bson.RawValue) (int64, bool) {
	if ms, ok := v.DateTimeOK(); ok {
		return ms, true
	}
	if seconds, _, ok := v.TimestampOK(); ok {
		return int64(seconds), true
	}
	return v.AsInt64OK()
}

// each creates a subtest for every command of the variant.
func each(t *testing.T, variant string, c *mongo.Client, asks []toolCommand) {
	for _, a := range asks {
		if a.on == "" || a.on == variant {
			t.Run(a.db+"/"+a.command, func(t *testing.T) { a.try(t, c) })
		}
	}
}
