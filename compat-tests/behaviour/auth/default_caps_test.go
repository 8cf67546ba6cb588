package auth

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// stoppedAt runs a command and returns its cap in RU and the place where the cap was set, from the error of the command; 0 and ""
// if the command succeeds.
func stoppedAt(t *testing.T, c *mongo.Client, db, cmd string) (float64, string) {
	t.Helper()
	cur, err := c.Database(db).RunCommandCursor(harness.Context(t), parse(t, cmd))
	if err == nil {
		for cur.Next(harness.Context(t)) {
		}
		err = cur.Err()
	}
	if err == nil {
		return 0, ""
	}
	var e mongo.CommandError
	if !errors.As(err, &e) || e.Code != 8253 {
		t.Fatalf("%s: %v", cmd, err)
	}
	var info struct {
		ErrInfo struct {
			Runaway struct {
				Limit, Used float64
				LimitOf     string
			}
		}
	}
	bsontest.Must(t, bson.Unmarshal(e.Raw, &info))
	r := info.ErrInfo.Runaway
	if r.Used > r.Limit+max(r.Limit/20, 100) {
		t.Errorf("%s: stopped at %v RU, at a cap of %v", cmd, r.Used, r.Limit)
	}
	return r.Limit, r.LimitOf
}

// TestDefaultMaxRequestUnits checks that of the default caps of the server, an application, a user, its roles, a collection, a
// database and a throughput bucket, and the cap in the command, the smallest holds; that only a user with setThroughput
// exceeds them by an argument; that commands of operators and index builds have none; and that they survive a restart.
func TestDefaultMaxRequestUnits(t *testing.T) {
	o := harness.Options{Args: []string{"--auth"}, Data: t.TempDir()}
	s, err := harness.Launch(o)
	bsontest.Must(t, err)
	createRoot(t, dial(t, s.URI))
	root := as(t, s, rootCredential)
	ok := func(db, cmd string) {
		t.Helper()
		if err := run(t, root, db, parse(t, cmd)); err != nil {
			t.Fatalf("%s: %v", cmd, err)
		}
	}
	ok("shop", `{"customAction": "CreateDatabase", "offerThroughput": 1000000, "serverSideRetry": true}`)
	var docs []any
	for i := range 2000 {
		docs = append(docs, bson.M{"_id": i, "a": i, "pad": strings.Repeat("x", 100)})
	}
	for _, name := range []string{"c", "d"} {
		_, err := root.Database("shop").Collection(name).InsertMany(t.Context(), docs)
		bsontest.Must(t, err)
	}
	user := userWith(t, s, root, "eve", `[{"role": "readWrite", "db": "shop"}]`)
	eve := options.Credential{Username: "eve", Password: "pass"}
	batch := as(t, s, eve, options.Client().SetAppName("nightly"))
	const scan = `"find": "c", "filter": {"none": 1}`
	expect := func(c *mongo.Client, cmd string, limit float64, of string) {
		t.Helper()
		if l, o := stoppedAt(t, c, "shop", cmd); l != limit || o != of {
			t.Errorf("%s: stopped at %v RU of the %q, not at %v of the %q", cmd, l, o, limit, of)
		}
	}
	caps := func(commands, nightly float64) {
		t.Helper()
		ok("admin", fmt.Sprintf(`{"setClusterParameter": {"defaultMaxRequestUnits": {"commands": %v, "applications": [{"appName": "nightly", "maxRequestUnits": %v}]}}}`, commands, nightly))
	}
	expect(user, `{`+scan+`}`, 0, "")
	expect(user, `{`+scan+`, "maxRequestUnits": 50}`, 50, "command")
	caps(60, 45)
	expect(user, `{`+scan+`}`, 60, "server")
	expect(root, `{`+scan+`}`, 60, "server")
	expect(batch, `{`+scan+`}`, 45, "application")
	expect(user, `{`+scan+`, "maxRequestUnits": 50}`, 50, "command")
	expect(user, `{`+scan+`, "maxRequestUnits": 1000}`, 60, "server")
	expect(root, `{`+scan+`, "maxRequestUnits": 1000}`, 0, "")
	expect(root, `{`+scan+`, "comment": {"priority": "operator"}}`, 0, "")
	expect(user, `{"find": "c", "batchSize": 200}`, 60, "server")
	expect(user, `{"aggregate": "c", "pipeline": [{"$match": {"none": 1}}], "cursor": {}}`, 60, "server")
	expect(user, `{"aggregate": "c", "pipeline": [{"$limit": 1}, {"$unionWith": "d"}, {"$match": {"none": 1}}], "cursor": {}}`, 60, "server")
	if err := run(t, user, "shop", parse(t, `{"explain": {`+scan+`}, "verbosity": "executionStats"}`)); code(err) != 8253 {
		t.Errorf("explain: %v", err)
	}
	if err := run(t, user, "shop", parse(t, `{"explain": {`+scan+`}, "verbosity": "queryPlanner"}`)); err != nil {
		t.Errorf("explain of the plan: %v", err)
	}
	ok("shop", `{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]}`)
	if err := run(t, user, "shop", parse(t, `{"update": "c", "updates": [{"q": {}, "u": {"$inc": {"n": 1}}, "multi": true}]}`)); code(err) != 8253 {
		t.Errorf("an update: %v", err)
	}
	caps(0, 0)

	ok("shop", `{"customAction": "UpdateCollection", "collection": "c", "defaultMaxRequestUnits": 70}`)
	expect(user, `{`+scan+`}`, 70, "collection")
	expect(user, `{"aggregate": "d", "pipeline": [{"$limit": 1}, {"$unionWith": "c"}, {"$match": {"none": 1}}], "cursor": {}}`, 70, "collection")
	expect(user, `{"aggregate": "d", "pipeline": [{"$limit": 1}, {"$lookup": {"from": "c", "as": "j", "pipeline": [{"$match": {"none": 1}}]}}], "cursor": {}}`, 70, "collection")
	expect(user, `{"find": "d", "filter": {"none": 1}}`, 0, "")
	expect(root, `{`+scan+`, "maxRequestUnits": 1000}`, 0, "")
	ok("shop", `{"customAction": "UpdateCollection", "collection": "c", "throughputBuckets": [{"id": 2, "maxThroughputPercentage": 90, "appName": "nightly", "defaultMaxRequestUnits": 30}]}`)
	expect(batch, `{`+scan+`}`, 30, "bucket")
	expect(user, `{`+scan+`, "comment": {"bucket": 2}}`, 30, "bucket")
	expect(user, `{`+scan+`}`, 70, "collection")
	ok("shop", `{"customAction": "UpdateDatabase", "defaultMaxRequestUnits": 40}`)
	expect(user, `{`+scan+`}`, 40, "database")
	ok("shop", `{"customAction": "UpdateDatabase", "defaultMaxRequestUnits": 0}`)
	if err := run(t, user, "shop", parse(t, `{"customAction": "UpdateCollection", "collection": "c", "defaultMaxRequestUnits": 0}`)); code(err) != 13 {
		t.Errorf("a user without setThroughput removes a cap: %v", err)
	}

	ok("admin", `{"updateUser": "eve", "defaultMaxRequestUnits": 20}`)
	expect(user, `{`+scan+`}`, 20, "user")
	ok("admin", `{"createRole": "cheap", "roles": [], "privileges": [], "defaultMaxRequestUnits": 10.5}`)
	ok("admin", `{"createRole": "outer", "roles": ["cheap"], "privileges": []}`)
	ok("admin", `{"grantRolesToUser": "eve", "roles": ["outer"]}`)
	expect(user, `{`+scan+`}`, 10.5, "role")

	ok("admin", `{"createRole": "backups", "roles": [], "privileges": [], "defaultMaxRequestUnits": 100000}`)
	backups := userWith(t, s, root, "backups", `[{"role": "readWrite", "db": "shop"}, {"role": "backups", "db": "admin"}]`)
	ok("shop", `{"customAction": "UpdateCollection", "collection": "c", "defaultMaxRequestUnits": 0}`)
	caps(60, 8)
	expect(backups, `{`+scan+`}`, 0, "") // instead of the server's
	expect(root, `{`+scan+`}`, 60, "server")
	ok("shop", `{"customAction": "UpdateCollection", "collection": "c", "defaultMaxRequestUnits": 70}`)
	expect(backups, `{`+scan+`}`, 70, "collection")

	bsontest.Must(t, s.Stop())
	s = harness.Start(t, o)
	root, user, batch = as(t, s, rootCredential), as(t, s, eve), as(t, s, eve, options.Client().SetAppName("nightly"))
	expect(batch, `{`+scan+`}`, 8, "application")
	expect(user, `{`+scan+`}`, 10.5, "role")
	caps(0, 0)
	ok("admin", `{"updateRole": "cheap", "defaultMaxRequestUnits": 0}`)
	expect(user, `{`+scan+`}`, 20, "user")
	ok("admin", `{"updateUser": "eve", "defaultMaxRequestUnits": 0}`)
	expect(user, `{`+scan+`}`, 70, "collection")
	expect(batch, `{`+scan+`}`, 30, "bucket")

	owner := userWith(t, s, root, "owner", `[{"role": "dbOwner", "db": "shop"}]`)
	for _, cmd := range []string{
		`{"createUser": "x", "pwd": "p", "roles": [], "defaultMaxRequestUnits": 5}`,
		`{"createRole": "x", "roles": [], "privileges": [], "defaultMaxRequestUnits": 5}`,
	} {
		if err := run(t, owner, "shop", parse(t, cmd)); code(err) != 13 {
			t.Errorf("%s by a user without setThroughput: %v", cmd, err)
		}
	}
}
