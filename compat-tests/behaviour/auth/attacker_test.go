package auth

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// parse reads a command from extended JSON, in which field names may lack quotes.
func parse(t *testing.T, text string) bson.D {
	t.Helper()
	var d bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &d); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// attempt is a command that must be refused.
type attempt struct{ db, command string }

// attempts are commands that the user eve sends and that must be refused. Eve may read and write the database eve and
// administer its users, and in the database p read the collection a and the views v and w, and create collections.
var attempts = []attempt{
	// Access to a database of another user.
	{"s", `{"find": "c"}`},
	{"s", `{"count": "c"}`},
	{"s", `{"distinct": "c", "key": "x"}`},
	{"s", `{"aggregate": "c", "pipeline": [], "cursor": {}}`},
	{"s", `{"aggregate": "c", "pipeline": [{"$collStats": {"count": {}}}], "cursor": {}}`},
	{"s", `{"aggregate": "c", "pipeline": [{"$indexStats": {}}], "cursor": {}}`},
	{"s", `{"aggregate": "c", "pipeline": [{"$changeStream": {}}], "cursor": {}}`},
	{"s", `{"aggregate": 1, "pipeline": [{"$changeStream": {}}], "cursor": {}}`},
	{"admin", `{"aggregate": 1, "pipeline": [{"$changeStream": {"allChangesForCluster": true}}], "cursor": {}}`},
	{"s", `{"explain": {"find": "c"}}`},
	{"s", `{"insert": "c", "documents": [{}]}`},
	{"s", `{"update": "c", "updates": [{"q": {}, "u": {"$set": {"x": 2}}}]}`},
	{"s", `{"delete": "c", "deletes": [{"q": {}, "limit": 0}]}`},
	{"s", `{"findAndModify": "c", "query": {}, "remove": true}`},
	{"s", `{"mapReduce": "c", "map": {"$code": "function() {}"}, "reduce": {"$code": "function() {}"}, "out": {"inline": 1}}`},
	{"eve", `{"mapReduce": "c", "map": {"$code": "function() {}"}, "reduce": {"$code": "function() {}"}, "out": {"replace": "c", "db": "s"}}`},
	{"admin", `{"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": "s.c"}]}`},
	{"eve", `{"aggregate": "c", "pipeline": [{"$out": {"db": "s", "coll": "c"}}], "cursor": {}}`},
	{"eve", `{"aggregate": "c", "pipeline": [{"$merge": {"into": {"db": "s", "coll": "c"}}}], "cursor": {}}`},
	{"eve", `{"explain": {"aggregate": "c", "pipeline": [{"$merge": {"into": {"db": "s", "coll": "c"}}}], "cursor": {}}}`},
	{"eve", `{"aggregate": "c", "pipeline": [{"$lookup": {"from": {"db": "s", "coll": "c"}, "as": "x", "pipeline": []}}], "cursor": {}}`},
	{"eve", `{"aggregate": "c", "pipeline": [{"$unionWith": {"db": "s", "coll": "c"}}], "cursor": {}}`},
	{"s", `{"create": "d"}`},
	{"s", `{"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x"}]}`},
	{"s", `{"dropIndexes": "c", "index": "*"}`},
	{"s", `{"drop": "c"}`},
	{"s", `{"dropDatabase": 1}`},
	{"s", `{"collMod": "c", "validator": {}}`},
	{"s", `{"collStats": "c"}`},
	{"s", `{"dbStats": 1}`},
	{"s", `{"validate": "c"}`},
	{"s", `{"dbHash": 1}`},
	{"s", `{"listCollections": 1}`},
	{"s", `{"listIndexes": "c"}`},
	{"admin", `{"renameCollection": "s.c", "to": "eve.d"}`},
	{"admin", `{"renameCollection": "eve.c", "to": "s.d"}`},
	{"admin", `{"shardCollection": "s.c", "key": {"_id": 1}}`},
	{"admin", `{"reshardCollection": "s.c", "key": {"x": 1}}`},
	{"s", `{"customAction": "GetCollection", "collection": "c"}`},
	{"s", `{"customAction": "UpdateCollection", "collection": "c", "offerThroughput": 400}`},

	// Access to other collections of the database in which eve may read one collection.
	{"p", `{"find": "secret"}`},
	{"p", `{"aggregate": "a", "pipeline": [{"$lookup": {"from": "secret", "localField": "x", "foreignField": "x", "as": "y"}}], "cursor": {}}`},
	{"p", `{"aggregate": "a", "pipeline": [{"$lookup": {"from": "a", "as": "y", "pipeline": [{"$unionWith": "secret"}]}}], "cursor": {}}`},
	{"p", `{"aggregate": "a", "pipeline": [{"$graphLookup": {"from": "secret", "startWith": "$x", "connectFromField": "x", "connectToField": "x", "as": "y"}}], "cursor": {}}`},
	{"p", `{"aggregate": "a", "pipeline": [{"$unionWith": {"coll": "secret", "pipeline": []}}], "cursor": {}}`},
	{"p", `{"aggregate": "a", "pipeline": [{"$facet": {"f": [{"$lookup": {"from": "secret", "as": "y", "pipeline": []}}]}}], "cursor": {}}`},
	{"p", `{"aggregate": "a", "pipeline": [{"$unionWith": {"coll": "a", "pipeline": [{"$facet": {"f": [{"$unionWith": "secret"}]}}]}}], "cursor": {}}`},
	{"p", `{"explain": {"aggregate": "a", "pipeline": [{"$unionWith": "secret"}], "cursor": {}}, "verbosity": "executionStats"}`},
	{"p", `{"create": "w", "viewOn": "secret", "pipeline": []}`},
	{"p", `{"create": "w", "viewOn": "a", "pipeline": [{"$unionWith": "secret"}]}`},
	{"p", `{"create": "w", "viewOn": "v", "pipeline": [{"$lookup": {"from": "secret", "as": "y", "pipeline": []}}]}`},
	{"p", `{"insert": "system.views", "documents": [{"_id": "p.w", "viewOn": "secret", "pipeline": []}]}`},
	{"p", `{"find": "system.profile"}`},

	// Access to the server's own collections.
	{"admin", `{"find": "system.users"}`},
	{"admin", `{"insert": "system.users", "documents": [{"_id": "admin.x"}]}`},
	{"admin", `{"update": "system.users", "updates": [{"q": {}, "u": {"$set": {"roles": []}}}]}`},
	{"admin", `{"find": "system.roles"}`},
	{"admin", `{"find": "system.version"}`},
	{"local", `{"find": "oplog.rs"}`},
	{"config", `{"find": "transactions"}`},
	{"config", `{"find": "system.sessions"}`},
	{"config", `{"insert": "settings", "documents": [{"_id": "balancer", "stopped": true}]}`},
	{"eve", `{"insert": "system.users", "documents": [{}]}`},
	{"eve", `{"aggregate": "c", "pipeline": [{"$out": {"db": "admin", "coll": "system.users"}}], "cursor": {}}`},
	{"eve", `{"aggregate": "c", "pipeline": [{"$merge": {"into": {"db": "config", "coll": "settings"}}}], "cursor": {}}`},
	{"admin", `{"currentOp": 1}`},
	{"admin", `{"aggregate": 1, "pipeline": [{"$currentOp": {"allUsers": true}}], "cursor": {}}`},
	{"config", `{"aggregate": "system.sessions", "pipeline": [{"$listSessions": {"allUsers": true}}], "cursor": {}}`},
	{"admin", `{"aggregate": 1, "pipeline": [{"$listLocalSessions": {"users": [{"user": "root", "db": "admin"}]}}], "cursor": {}}`},
	{"admin", `{"aggregate": 1, "pipeline": [{"$querySettings": {}}], "cursor": {}}`},
	{"admin", `{"killOp": 1, "op": 1}`},
	{"admin", `{"killAllSessions": []}`},
	{"admin", `{"killAllSessions": [{"user": "root", "db": "admin"}]}`},
	{"admin", `{"killAllSessionsByPattern": []}`},
	{"admin", `{"serverStatus": 1}`},
	{"admin", `{"getCmdLineOpts": 1}`},
	{"admin", `{"getLog": "global"}`},
	{"admin", `{"getParameter": "*"}`},
	{"admin", `{"setParameter": 1, "cursorTimeoutMillis": 1}`},
	{"admin", `{"hostInfo": 1}`},
	{"admin", `{"top": 1}`},
	{"admin", `{"fsync": 1, "lock": true}`},
	{"admin", `{"setQuerySettings": {"find": "c", "$db": "s"}, "settings": {"reject": true}}`},
	{"admin", `{"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "local"}}`},
	{"eve", `{"profile": 2}`},

	// Privileges and roles beyond those of eve.
	{"eve", `{"createUser": "x", "pwd": "x", "roles": [{"role": "root", "db": "admin"}]}`},
	{"eve", `{"createUser": "x", "pwd": "x", "roles": [{"role": "read", "db": "s"}]}`},
	{"admin", `{"createUser": "x", "pwd": "x", "roles": []}`},
	{"eve", `{"grantRolesToUser": "eve", "roles": [{"role": "root", "db": "admin"}]}`},
	{"eve", `{"updateUser": "eve", "roles": [{"role": "root", "db": "admin"}]}`},
	{"admin", `{"updateUser": "root", "pwd": "eve"}`},
	{"admin", `{"dropUser": "root"}`},
	{"eve", `{"createRole": "x", "privileges": [{"resource": {"db": "s", "collection": ""}, "actions": ["find"]}], "roles": []}`},
	{"eve", `{"createRole": "x", "privileges": [{"resource": {"anyResource": true}, "actions": ["anyAction"]}], "roles": []}`},
	{"eve", `{"createRole": "x", "privileges": [{"resource": {"cluster": true}, "actions": ["shutdown"]}], "roles": []}`},
	{"eve", `{"createRole": "x", "privileges": [{"resource": {"db": "", "collection": ""}, "actions": ["find"]}], "roles": []}`},
	{"eve", `{"createRole": "x", "privileges": [], "roles": [{"role": "readAnyDatabase", "db": "admin"}]}`},
	{"eve", `{"grantPrivilegesToRole": "own", "privileges": [{"resource": {"db": "s", "collection": "c"}, "actions": ["find"]}]}`},
	{"eve", `{"grantRolesToRole": "own", "roles": [{"role": "root", "db": "admin"}]}`},
	{"eve", `{"updateRole": "own", "roles": [{"role": "root", "db": "admin"}]}`},
	{"admin", `{"usersInfo": "root", "showCredentials": true}`},
	{"admin", `{"usersInfo": {"forAllDBs": true}}`},
	{"s", `{"rolesInfo": 1, "showPrivileges": true}`},
	{"admin", `{"invalidateUserCache": 1}`},
}

// TestAttacker checks that every command of attempts is refused, to a user with few privileges and to a client
// without a login, and that afterwards the documents of s.c and p.secret and the number of users are unchanged.
func TestAttacker(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	createRoot(t, dial(t, s.URI))
	root := as(t, s, rootCredential)
	do := func(c *mongo.Client, db, cmd string) {
		t.Helper()
		bsontest.Must(t, run(t, c, db, parse(t, cmd)))
	}
	for _, ns := range [][2]string{{"s", "c"}, {"p", "a"}, {"p", "secret"}, {"eve", "c"}} {
		do(root, ns[0], `{"insert": "`+ns[1]+`", "documents": [{"_id": 1, "x": 1}]}`)
	}
	do(root, "p", `{"create": "v", "viewOn": "secret", "pipeline": [{"$project": {"x": 0}}]}`)
	do(root, "p", `{"createRole": "few", "roles": [], "privileges": [
		{"resource": {"db": "p", "collection": "a"}, "actions": ["find"]},
		{"resource": {"db": "p", "collection": "v"}, "actions": ["find"]},
		{"resource": {"db": "p", "collection": "w"}, "actions": ["find"]},
		{"resource": {"db": "p", "collection": ""}, "actions": ["createCollection"]}]}`)
	do(root, "eve", `{"createUser": "eve", "pwd": "eve", "roles": ["readWrite", "userAdmin", {"role": "few", "db": "p"}]}`)
	eve := as(t, s, options.Credential{AuthSource: "eve", Username: "eve", Password: "eve"})
	stranger := dial(t, s.URI)
	do(eve, "eve", `{"createRole": "own", "privileges": [], "roles": []}`)

	// Commands that eve may run succeed, which shows that the others are refused for the right reason.
	do(eve, "p", `{"find": "a"}`)
	do(eve, "p", `{"find": "v"}`)
	do(eve, "p", `{"aggregate": "a", "pipeline": [{"$unionWith": "v"}], "cursor": {}}`)
	do(eve, "eve", `{"explain": {"find": "c"}, "verbosity": "executionStats"}`)

	// Another user's cursor, on a collection that eve may read as well, which eve must not use.
	do(root, "p", `{"insert": "a", "documents": [{"_id": 2}, {"_id": 3}]}`)
	var open struct{ Cursor struct{ ID int64 } }
	bsontest.Must(t, root.Database("p").RunCommand(harness.Context(t), parse(t, `{"find": "a", "batchSize": 1}`)).Decode(&open))
	for _, cmd := range []bson.D{
		{{Key: "getMore", Value: open.Cursor.ID}, {Key: "collection", Value: "a"}},
		{{Key: "killCursors", Value: "a"}, {Key: "cursors", Value: bson.A{open.Cursor.ID}}},
	} {
		if got := code(run(t, eve, "p", cmd)); got != 13 {
			t.Errorf("%v of another's cursor: %d", cmd[0].Key, got)
		}
	}
	for _, a := range attempts {
		if got := code(run(t, eve, a.db, parse(t, a.command))); got != 13 {
			t.Errorf("eve in %s: %s: %d", a.db, a.command, got)
		}
		if got := code(run(t, stranger, a.db, parse(t, a.command))); got != 13 {
			t.Errorf("a stranger in %s: %s: %d", a.db, a.command, got)
		}
	}
	for _, ns := range [][2]string{{"s", "c"}, {"p", "secret"}} {
		var doc bson.D
		coll := root.Database(ns[0]).Collection(ns[1])
		if err := coll.FindOne(harness.Context(t), bson.D{}).Decode(&doc); err != nil || len(doc) != 2 {
			t.Errorf("%v: %v, %v", ns, doc, err)
		}
	}
	var users struct{ Users []bson.D }
	bsontest.Must(t, root.Database("admin").RunCommand(harness.Context(t), parse(t, `{"usersInfo": {"forAllDBs": true}}`)).Decode(&users))
	if len(users.Users) != 2 {
		t.Errorf("users: %v", users.Users)
	}
}

// TestRolesDoNotFlip checks that a role cannot inherit itself.
func TestRolesDoNotFlip(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	createRoot(t, dial(t, s.URI))
	root := as(t, s, rootCredential)
	bsontest.Must(t, run(t, root, "x", parse(t, `{"createRole": "a", "privileges": [], "roles": []}`)))
	bsontest.Must(t, run(t, root, "x", parse(t, `{"createRole": "b", "privileges": [], "roles": ["a"]}`)))
	bsontest.Must(t, run(t, root, "x", parse(t, `{"createRole": "c", "privileges": [], "roles": ["b"]}`)))
	for _, cmd := range []string{`{"grantRolesToRole": "a", "roles": ["c"]}`, `{"updateRole": "a", "roles": ["a"]}`, `{"updateRole": "a", "roles": ["c"]}`} {
		if err := run(t, root, "x", parse(t, cmd)); err == nil {
			t.Errorf("%s succeeds", cmd)
		}
	}
	bsontest.Must(t, run(t, root, "x", parse(t, `{"rolesInfo": "c", "showPrivileges": true}`)))
}

// TestLinesOfOthers checks that text from a client, such as a user's name with line ends, cannot add lines to the
// server's log.
func TestLinesOfOthers(t *testing.T) {
	for _, format := range []string{"console", "json"} {
		s := harness.Start(t, harness.Options{Args: []string{"--auth", "--log-format", format, "--log-level", "debug"}})
		evil := "x\nINJECTED {\"level\":\"error\"}\r\n\x1b[31mred"
		createRoot(t, dial(t, s.URI, options.Client().SetAppName(strings.ReplaceAll(evil, "\r", ""))))
		if got := code(run(t, as(t, s, options.Credential{Username: evil, Password: "x"}), "test", ping)); got != 18 {
			t.Errorf("login: %d", got)
		}
		_ = run(t, dial(t, s.URI), evil, bson.D{{Key: evil, Value: evil}, {Key: "comment", Value: evil}})
		_ = run(t, as(t, s, rootCredential), "test", bson.D{{Key: "find", Value: evil}, {Key: "comment", Value: evil}, {Key: "filter", Value: bson.D{{Key: "$where", Value: "throw '" + evil + "'"}}}})
		for _, line := range strings.Split(s.Log(), "\n") {
			if strings.HasPrefix(line, "INJECTED") || strings.Contains(line, "\x1b[31mred") {
				t.Errorf("%s: a client has written the line %q", format, line)
			}
		}
		if !strings.Contains(s.Log(), "login failed") {
			t.Error("the failed login is not in the log")
		}
	}
}
