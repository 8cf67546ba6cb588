package auth

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// The error codes of refused attempts to bypass authorization.
const (
	unauthorized = 13
	repeated     = 40413
)

// mark is a text in every document that the users of these tests must not see; a reply that contains it is a
// violation.
const mark = "MARKED"

// guarded starts a server on which the documents of the database victim and of the collection mine.secret contain the
// mark. It returns a client of root, and one of a user me with the given roles.
func guarded(t *testing.T, roles string) (root, user *mongo.Client) {
	t.Helper()
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	createRoot(t, dial(t, s.URI))
	root = as(t, s, rootCredential)
	for _, ns := range []string{"victim.secret", "mine.secret", "mine.own"} {
		db, coll, _ := strings.Cut(ns, ".")
		doc := bson.D{{Key: "_id", Value: 1}, {Key: "text", Value: mark}}
		if coll == "own" {
			doc[1].Value = "own"
		}
		bsontest.Must(t, run(t, root, db, bson.D{{Key: "insert", Value: coll}, {Key: "documents", Value: bson.A{doc}}}))
	}
	return root, userWith(t, s, root, "me", roles)
}

// d returns a BSON document from alternating names and values. A name may come twice, which some tests require.
func d(pairs ...any) bson.D {
	doc := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		doc = append(doc, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return doc
}

// refuse runs a command by which a user tries to bypass authorization. The command must end with one of the given
// error codes, and its reply must not contain the mark.
func refuse(t *testing.T, c *mongo.Client, db string, cmd bson.D, codes ...int) {
	t.Helper()
	reply, err := c.Database(db).RunCommand(t.Context(), cmd).Raw()
	if strings.Contains(string(reply), mark) {
		t.Errorf("%v: the reply has what the user may not see: %v", cmd, reply)
	}
	for _, want := range codes {
		if code(err) == want {
			return
		}
	}
	t.Errorf("%v: %v, not one of the codes %v", cmd, err, codes)
}

// unchanged fails the test if a marked document of the collections that users must not write was changed or removed.
func unchanged(t *testing.T, root *mongo.Client) {
	t.Helper()
	for _, ns := range []string{"victim.secret", "mine.secret"} {
		db, coll, _ := strings.Cut(ns, ".")
		n, err := root.Database(db).Collection(coll).CountDocuments(t.Context(), d("text", mark))
		if all, _ := root.Database(db).Collection(coll).CountDocuments(t.Context(), d()); err != nil || n != 1 || all != 1 {
			t.Errorf("%s has %d documents, %d of them as they were, %v", ns, all, n, err)
		}
	}
}

// pipelines returns stages with an argument that comes twice, mostly a namespace: code that reads the first sees a
// permitted one, code that reads the last a forbidden one.
func pipelines() map[string]bson.A {
	both := func(name string, first, last any) []any { return []any{name, first, name, last} }
	stage := func(name string, arg any) bson.A { return bson.A{d(name, arg)} }
	empty := bson.A{}
	all := map[string]bson.A{
		"unionWith coll":     stage("$unionWith", d(both("coll", "own", "secret")...)),
		"unionWith db":       stage("$unionWith", d("coll", "secret", "db", "mine", "db", "victim")),
		"unionWith pipeline": stage("$unionWith", d(append([]any{"coll", "own"}, both("pipeline", empty, stage("$unionWith", "secret"))...)...)),
		"lookup from":        stage("$lookup", d("from", "own", "from", "secret", "pipeline", empty, "as", "x")),
		"lookup from.coll":   stage("$lookup", d("from", d("db", "config", "coll", "own", "coll", "shards"), "pipeline", empty, "as", "x")),
		"lookup pipeline":    stage("$lookup", d("from", "own", "pipeline", empty, "pipeline", stage("$unionWith", "secret"), "as", "x")),
		"graphLookup from": stage("$graphLookup", d("from", "own", "from", "secret", "startWith", 1, "connectFromField", "_id",
			"connectToField", "_id", "as", "x")),
		"merge into":        stage("$merge", d("into", "own", "into", d("db", "victim", "coll", "secret"))),
		"merge into.db":     stage("$merge", d("into", d("db", "mine", "coll", "secret", "db", "victim"))),
		"merge whenMatched": stage("$merge", d("into", "own", "whenMatched", "fail", "whenMatched", "replace")),
		"out db":            stage("$out", d("db", "mine", "coll", "secret", "db", "victim")),
		"out null db":       stage("$out", d("db", nil, "db", "victim", "coll", "secret")),
	}
	for name, p := range all {
		if !strings.HasPrefix(name, "merge") && !strings.HasPrefix(name, "out") {
			all["facet "+name] = stage("$facet", d("x", p))
		}
	}
	return all
}

// TestRepeatedInPipelines checks that a stage with a repeated argument is refused: in a pipeline, in $facet, in
// explain and in views.
func TestRepeatedInPipelines(t *testing.T) {
	root, me := guarded(t, `[{"role": "readWrite", "db": "admin"}]`)
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"createRole": "own", "roles": [], "privileges": [
		{"resource": {"db": "mine", "collection": "own"}, "actions": ["find", "insert", "update", "remove", "bypassDocumentValidation"]},
		{"resource": {"db": "mine", "collection": "view"}, "actions": ["find", "createCollection", "collMod"]}]}`)))
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"updateUser": "me", "roles": ["own"]}`)))
	bsontest.Must(t, run(t, me, "mine", parse(t, `{"create": "view", "viewOn": "own", "pipeline": []}`)))
	for name, p := range pipelines() {
		t.Run(name, func(t *testing.T) {
			aggregate := d("aggregate", "own", "pipeline", p, "cursor", d())
			refuse(t, me, "mine", aggregate, repeated, unauthorized)
			refuse(t, me, "mine", d("explain", d("aggregate", "own", "pipeline", p, "cursor", d()), "verbosity", "executionStats"), repeated, unauthorized)
			refuse(t, me, "mine", d("create", fmt.Sprintf("v%d", len(name)), "viewOn", "own", "pipeline", p), repeated, unauthorized)
			refuse(t, me, "mine", d("collMod", "view", "viewOn", "own", "pipeline", p), repeated, unauthorized, 40323)
		})
	}
	refuse(t, me, "mine", d("mapReduce", "own", "map", "function() { emit(1, 1) }", "reduce", "function() { return 1 }",
		"out", d("replace", "own", "db", "mine", "db", "victim")), repeated)
	unchanged(t, root)
}

// TestDatabaseOfSubPipelines checks the privileges of a stage that names no database: the stage reads the database of
// its pipeline, which may differ from that of the command.
func TestDatabaseOfSubPipelines(t *testing.T) {
	root, me := guarded(t, `[{"role": "read", "db": "admin"}]`)
	bsontest.Must(t, run(t, root, "victim", parse(t, `{"create": "open"}`)))
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"createRole": "own", "roles": [], "privileges": [
		{"resource": {"db": "mine", "collection": ""}, "actions": ["find"]}, {"resource": {"db": "victim", "collection": "open"}, "actions": ["find"]}]}`)))
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"updateUser": "me", "roles": ["own"]}`)))
	lookup := d("$lookup", d("from", "secret", "pipeline", bson.A{}, "as", "x"))
	one := d("$documents", bson.A{d("a", 1)})
	for _, union := range []bson.D{
		d("db", "victim", "coll", "open", "pipeline", bson.A{lookup}),
		d("db", "victim", "coll", "open", "pipeline", bson.A{d("$facet", d("x", bson.A{lookup}))}),
		d("db", "victim", "coll", "open", "pipeline", bson.A{d("$unionWith", "secret")}),
		d("db", "victim", "pipeline", bson.A{one, lookup}),
	} {
		refuse(t, me, "mine", d("aggregate", "own", "pipeline", bson.A{d("$unionWith", union)}, "cursor", d()), unauthorized)
	}
	bsontest.Must(t, run(t, me, "mine", d("aggregate", "own", "pipeline", bson.A{lookup}, "cursor", d())))
}

// TestRepeatedNames checks that commands on users and roles refuse repeated names.
func TestRepeatedNames(t *testing.T) {
	root, me := guarded(t, `[{"role": "userAdmin", "db": "mine"}]`)
	rootRole := bson.A{d("role", "root", "db", "mine", "db", "admin")}
	for _, cmd := range []bson.D{
		d("grantRolesToUser", "me", "roles", rootRole),
		d("createUser", "other", "pwd", "x", "roles", rootRole),
		d("revokeRolesFromUser", "root", "roles", rootRole),
		d("createRole", "r", "roles", rootRole, "privileges", bson.A{}),
		d("grantRolesToRole", "r", "roles", rootRole),
		d("createRole", "r", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "mine", "db", "victim", "collection", ""), "actions", bson.A{"find"})}),
		d("usersInfo", d("user", "me", "user", "root", "db", "admin"), "showCredentials", true),
		d("usersInfo", bson.A{d("user", "me", "user", "root", "db", "admin")}, "showCredentials", true),
		d("rolesInfo", d("role", "userAdmin", "db", "mine", "db", "admin")),
	} {
		refuse(t, me, "mine", cmd, repeated)
	}
	var info struct{ Users []struct{ Roles []any } }
	bsontest.Must(t, root.Database("admin").RunCommand(t.Context(), parse(t, `{"usersInfo": "root"}`)).Decode(&info))
	if len(info.Users) != 1 || len(info.Users[0].Roles) != 1 {
		t.Errorf("root is %+v", info)
	}
}

// TestNumbersOfBulkWrite checks that an operation of bulkWrite on a namespace without privileges is refused,
// whatever the type of the number that selects the namespace, and also if the number is a fraction.
func TestNumbersOfBulkWrite(t *testing.T) {
	root, me := guarded(t, `[]`)
	half, err := bson.ParseDecimal128("0.4")
	bsontest.Must(t, err)
	for _, number := range []any{0, 0.4, -0.4, math.NaN(), half, int64(0)} {
		for _, op := range []bson.D{
			d("delete", number, "filter", d()),
			d("insert", number, "document", d("a", 1)),
			d("update", number, "filter", d(), "updateMods", d("$set", d("text", "x"))),
		} {
			for _, ns := range []string{"victim.secret", "config.settings", "admin.system.users", "victim.system.js"} {
				refuse(t, me, "admin", d("bulkWrite", 1, "ops", bson.A{op}, "nsInfo", bson.A{d("ns", ns)}), unauthorized)
			}
		}
	}
	unchanged(t, root)
}

// TestUUIDs checks that a command that reads a collection by its UUID requires the privileges of the same command with
// the name, and the action useUUID in addition.
func TestUUIDs(t *testing.T) {
	root, me := guarded(t, `[]`)
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"createRole": "own", "roles": [], "privileges": [{"resource": {"db": "mine", "collection": ""}, "actions": ["find"]}]}`)))
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"grantRolesToUser": "me", "roles": ["own"]}`)))
	uuid := func(db, coll string) bson.Binary {
		specs, err := root.Database(db).ListCollectionSpecifications(t.Context(), d("name", coll))
		bsontest.Must(t, err)
		return *specs[0].UUID
	}
	none := bson.Binary{Subtype: 4, Data: make([]byte, 16)} // of no collection: the error must be the same
	bsontest.Must(t, run(t, root, "mine", parse(t, `{"insert": "system.js", "documents": [{"_id": "MARKED", "value": 1}]}`)))
	for _, x := range []struct{ db, coll string }{{"victim", "secret"}, {"mine", "own"}, {"mine", "system.js"}} {
		for _, id := range []bson.Binary{uuid(x.db, x.coll), none} {
			for _, cmd := range []bson.D{
				d("aggregate", id, "pipeline", bson.A{}, "cursor", d()),
				d("find", id), d("count", id), d("distinct", id, "key", "_id"),
			} {
				refuse(t, me, x.db, cmd, unauthorized)
				refuse(t, me, x.db, d("explain", cmd), unauthorized)
			}
		}
	}
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"createRole": "uuids", "roles": [], "privileges": [{"resource": {"cluster": true}, "actions": ["useUUID"]}]}`)))
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"grantRolesToUser": "me", "roles": ["uuids"]}`)))
	bsontest.Must(t, run(t, me, "mine", d("aggregate", uuid("mine", "own"), "pipeline", bson.A{}, "cursor", d())))
	bsontest.Must(t, run(t, me, "mine", d("find", uuid("mine", "own"))))
	refuse(t, me, "victim", d("aggregate", uuid("victim", "secret"), "pipeline", bson.A{}, "cursor", d()), unauthorized)
	refuse(t, me, "victim", d("find", uuid("victim", "secret")), unauthorized)
	refuse(t, me, "mine", d("find", uuid("mine", "system.js")), unauthorized)
}

// TestMetadataOfOthers checks that validateDBMetadata requires the action validate on the database that its arguments
// name, or on all databases if they name none.
func TestMetadataOfOthers(t *testing.T) {
	root, me := guarded(t, `[{"role": "dbAdmin", "db": "mine"}]`)
	for _, db := range []string{"victim", "mine"} {
		bsontest.Must(t, run(t, root, db, parse(t, `{"createIndexes": "secret", "indexes": [{"key": {"a": 1}, "name": "MARKED", "sparse": true}]}`)))
	}
	strict := d("version", "1", "strict", true)
	for _, cmd := range []bson.D{
		d("validateDBMetadata", 1, "apiParameters", strict),
		d("validateDBMetadata", 1, "apiParameters", strict, "collection", "secret"),
		d("validateDBMetadata", 1, "apiParameters", strict, "db", "victim"),
		d("validateDBMetadata", 1, "apiParameters", strict, "db", "victim", "collection", "secret"),
	} {
		refuse(t, me, "mine", cmd, unauthorized)
		bsontest.Must(t, run(t, root, "mine", cmd))
	}
	bsontest.Must(t, run(t, me, "mine", d("validateDBMetadata", 1, "apiParameters", strict, "db", "mine")))
	bsontest.Must(t, run(t, me, "admin", d("validateDBMetadata", 1, "apiParameters", strict, "db", "mine", "collection", "secret")))
}

// TestViewsKeepTheirSource checks that changing the pipeline of a view requires the privileges for everything that
// the new pipeline reads, whether the command also names the view's source or not.
func TestViewsKeepTheirSource(t *testing.T) {
	root, me := guarded(t, `[]`)
	bsontest.Must(t, run(t, root, "mine", parse(t, `{"create": "view", "viewOn": "own", "pipeline": []}`)))
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"createRole": "view", "roles": [], "privileges": [
		{"resource": {"db": "mine", "collection": "view"}, "actions": ["find", "collMod"]}, {"resource": {"db": "mine", "collection": "own"}, "actions": ["find"]}]}`)))
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"grantRolesToUser": "me", "roles": ["view"]}`)))
	union := bson.A{d("$unionWith", "secret")}
	refuse(t, me, "mine", d("collMod", "view", "pipeline", union), unauthorized)
	refuse(t, me, "mine", d("collMod", "view", "viewOn", nil, "pipeline", union), unauthorized)
	refuse(t, me, "mine", d("collMod", "view", "viewOn", "secret"), unauthorized)
	bsontest.Must(t, run(t, me, "mine", d("collMod", "view", "pipeline", bson.A{d("$match", d("_id", 1))})))
	refuse(t, me, "mine", d("find", "view", "filter", d("text", mark)), 0)
}

// TestOutOfMapReduce checks that the argument out of mapReduce is authorized for the collection that is written, in
// whatever order its fields come.
func TestOutOfMapReduce(t *testing.T) {
	root, me := guarded(t, `[]`)
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"createRole": "own", "roles": [], "privileges": [
		{"resource": {"db": "mine", "collection": "own"}, "actions": ["find"]}, {"resource": {"db": "mine", "collection": "mine"}, "actions": ["insert", "update"]},
		{"resource": {"db": "mine", "collection": ""}, "actions": ["insert", "update"]}]}`)))
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"grantRolesToUser": "me", "roles": ["own"]}`)))
	for _, out := range []bson.D{d("db", "mine", "replace", "secret"), d("nonAtomic", false, "replace", "secret"), d("replace", "secret"), d("db", "victim", "merge", "secret")} {
		refuse(t, me, "mine", d("mapReduce", "own", "map", "function() { emit(1, 1) }", "reduce", "function() { return 1 }", "out", out), unauthorized)
	}
	unchanged(t, root)
}

// TestOwnOperations checks that a repeated field in currentOp or $listSessions does not reveal operations or sessions
// of other users.
func TestOwnOperations(t *testing.T) {
	_, me := guarded(t, `[]`)
	refuse(t, me, "admin", d("currentOp", 1, "$ownOps", true, "$ownOps", false), repeated)
	for _, stage := range []string{"$listSessions", "$listLocalSessions"} {
		users := bson.A{d("user", "me", "user", "root", "db", "admin")}
		coll, db := any("system.sessions"), "config"
		if stage == "$listLocalSessions" {
			coll, db = 1, "admin"
		}
		refuse(t, me, db, d("aggregate", coll, "pipeline", bson.A{d(stage, d("users", users))}, "cursor", d()), repeated)
		refuse(t, me, db, d("aggregate", coll, "pipeline", bson.A{d(stage, d("users", bson.A{}, "users", users))}, "cursor", d()), repeated)
		refuse(t, me, db, d("aggregate", coll, "pipeline", bson.A{d(stage, d("allUsers", false, "allUsers", true))}, "cursor", d()), repeated)
	}
	refuse(t, me, "admin", d("aggregate", 1, "pipeline", bson.A{d("$currentOp", d("allUsers", false, "allUsers", true))}, "cursor", d()), repeated)
}

// TestViewsByApplyOps checks that an entry of applyOps that creates a view, by an insert into system.views, requires
// the privileges for creating that view.
func TestViewsByApplyOps(t *testing.T) {
	root, me := guarded(t, `[]`)
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"createRole": "views", "roles": [], "privileges": [
		{"resource": {"db": "mine", "collection": "system.views"}, "actions": ["insert", "update", "remove"]}, {"resource": {"db": "mine", "collection": "v"}, "actions": ["find"]}]}`)))
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"grantRolesToUser": "me", "roles": ["views"]}`)))
	entry := d("op", "i", "ns", "mine.system.views", "o", d("_id", "mine.v", "viewOn", "secret", "pipeline", bson.A{}))
	refuse(t, me, "admin", d("applyOps", bson.A{entry}), unauthorized)
	refuse(t, me, "mine", d("find", "v"), 0)
}

// TestRepeatedArguments checks that commands refuse an argument that comes twice. An exception is maxTimeMS, which
// the Go driver adds to a command that already has it.
func TestRepeatedArguments(t *testing.T) {
	_, me := guarded(t, `[{"role": "readWrite", "db": "mine"}]`)
	for _, cmd := range []bson.D{
		d("find", "own", "filter", d(), "filter", d("a", 1)), d("find", "own", "find", "secret"), d("find", "own", "limit", nil, "limit", 1),
		d("find", "own", "readConcern", d(), "readConcern", d()), d("ping", 1, "comment", 1, "comment", 2),
		d("insert", "own", "documents", bson.A{d("a", 1)}, "documents", bson.A{d("b", 1)}),
		d("update", "own", "updates", bson.A{d("q", d(), "u", d("$set", d("a", 1)), "u", d("$set", d("a", 2)))}),
		d("delete", "own", "deletes", bson.A{d("q", d(), "limit", 1, "limit", 0)}),
		d("find", "own", "readConcern", d("level", "local", "level", "majority")),
		d("insert", "own", "documents", bson.A{d("a", 1)}, "writeConcern", d("w", 1, "w", 0)),
		d("createIndexes", "own", "indexes", bson.A{d("key", d("a", 1), "name", "a", "name", "b")}),
		d("explain", d("find", "own", "filter", d(), "filter", d())),
	} {
		refuse(t, me, "mine", cmd, repeated)
	}
	bsontest.Must(t, run(t, me, "mine", d("find", "own", "maxTimeMS", 60_000, "maxTimeMS", 50_000)))
	bsontest.Must(t, run(t, me, "mine", d("insert", "own", "documents", bson.A{d("a", 1, "a", 2)}))) // stored documents may repeat names
}
