package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	driver "go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/serve/daemon"
)

// both is a server with an address of each kind.
type both struct {
	*daemon.Daemon
	db, account *mongo.Database // "test" at the MongoDB address and at the Cosmos address
}

func startBoth(t *testing.T, flags ...string) both {
	t.Helper()
	var cfg daemon.Config
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	cfg.Flags(f)
	if err := f.Parse(append([]string{"--memory", "--listen", "127.0.0.1:0", "--cosmos-listen", "127.0.0.1:0", "--enable-test-commands", "--drain", "1s"}, flags...)); err != nil {
		t.Fatal(err)
	}
	d, err := daemon.Start(context.Background(), cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Stop() })
	dial := func(uri string) *mongo.Database {
		client, err := mongo.Connect(options.Client().ApplyURI(uri))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Disconnect(context.Background()) })
		return client.Database("test")
	}
	return both{d, dial(d.URI()), dial(d.CosmosURI())}
}

// accountDump writes a dump such as mongodump makes of an account, and returns its folder: the given documents, the
// index of _id in version 1 with the namespace, the given further indexes, and no shard key.
func accountDump(t *testing.T, indexes string, docs []any) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var data []byte
	for _, d := range docs {
		raw, err := driver.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, raw...)
	}
	metadata := `{"options": {}, "indexes": [{"v": {"$numberInt": "1"}, "key": {"_id": {"$numberInt": "1"}}, "name": "_id_1", "ns": "shop.orders"}` + indexes + `], "collectionName": "orders", "type": "collection"}`
	err := errors.Join(os.Mkdir(filepath.Join(dir, "shop"), 0o755), os.WriteFile(filepath.Join(dir, "shop", "orders.metadata.json"), []byte(metadata), 0o600),
		os.WriteFile(filepath.Join(dir, "shop", "orders.bson"), data, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// accountIndexes are the indexes of an account's collection, after the first.
const accountIndexes = `,
	{"v": 1, "key": {"DocumentDBDefaultIndex": "2d"}, "name": "DocumentDBDefaultIndex", "ns": "shop.orders"},
	{"v": 1, "key": {"$**": 1}, "name": "$**_1", "ns": "shop.orders"},
	{"v": 1, "key": {"customer": 1, "email": 1}, "name": "customer_1_email_1", "ns": "shop.orders", "unique": true},
	{"v": 1, "key": {"at": -1, "total": 1}, "name": "at_-1_total_1", "ns": "shop.orders"},
	{"v": 1, "key": {"_ts": 1}, "name": "_ts_1", "ns": "shop.orders", "expireAfterSeconds": 3600}`

func accountDocuments() (docs []any) {
	for i := range 25 {
		for _, customer := range []string{"a", "b"} {
			docs = append(docs, driver.D{{Key: "customer", Value: customer}, {Key: "_id", Value: i}, {Key: "email", Value: fmt.Sprintf("%d@%s", i, customer)},
				{Key: "at", Value: driver.DateTime(i)}, {Key: "changed", Value: driver.Timestamp{}}, {Key: "total", Value: float64(i)}})
		}
	}
	return docs
}

// restored runs cantle restore, and returns the exit status and the text that it printed.
func restored(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out strings.Builder
	code := verbStatus(t, "restore", "", &out, &out, args...)
	return code, out.String()
}

func count(t *testing.T, db *mongo.Database, coll string, filter any) int64 {
	t.Helper()
	n, err := db.Collection(coll).CountDocuments(t.Context(), filter)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A dump of an account is restored through either address of a server, all but its index DocumentDBDefaultIndex, and
// its documents expire there.
func TestRestoreOfAccount(t *testing.T) {
	dir := accountDump(t, accountIndexes, accountDocuments())
	for _, name := range []string{"mongodb", "cosmos"} {
		t.Run(name, func(t *testing.T) {
			s := startBoth(t)
			uri, db := s.URI(), s.db.Client().Database(name)
			if name == "cosmos" {
				uri, db = s.CosmosURI(), s.account.Client().Database(name)
			}
			code, said := restored(t, "--shard-key", "shop.orders=customer", "--rename", "shop="+name, uri, dir)
			if code != 0 || !strings.Contains(said, "50 documents restored, 0 there already, 0 failed") || !strings.Contains(said, "DocumentDBDefaultIndex is left out") {
				t.Fatalf("status %d\n%s", code, said)
			}
			key := struct{ Key driver.Raw }{}
			if err := s.db.Client().Database("config").Collection("collections").FindOne(t.Context(), driver.M{"_id": name + ".orders"}).Decode(&key); err != nil || key.Key.Lookup("customer").StringValue() != "hashed" {
				t.Errorf("the shard key is %s: %v", key.Key, err)
			}
			got := indexes(t, db, "orders")
			for _, want := range []string{"_id_", "$**_1", "customer_1_email_1", "at_-1_total_1", "_ts_1"} {
				if got[want] == nil {
					t.Errorf("the index %s is missing: %v", want, got)
				}
			}
			if len(got) != 5 || got["customer_1_email_1"]["unique"] != true {
				t.Errorf("indexes: %v", got)
			}
			// Again: the documents, and everything else, are there already.
			if code, said := restored(t, "--shard-key", "customer", "--rename", "shop="+name, uri, dir); code != 0 || !strings.Contains(said, "0 documents restored, 50 there already, 0 failed") {
				t.Errorf("again: status %d\n%s", code, said)
			}
			// Documents without a field _ts expire an hour after they were written.
			for _, x := range []struct {
				after time.Duration
				left  int64
			}{{59 * time.Minute, 50}, {2 * time.Minute, 0}} {
				run(t, s.db.Client().Database("admin"), fmt.Sprintf(`{customAction: "Clock", stop: true, advanceMs: %d}`, x.after.Milliseconds()))
				if _, err := s.Jobs().Expire(t.Context()); err != nil {
					t.Fatal(err)
				}
				run(t, s.db.Client().Database("admin"), `{customAction: "Clock", advanceMs: 10000}`) // what deletes cost is paid
				if n := count(t, s.db.Client().Database(name), "orders", driver.D{}); n != x.left {
					t.Errorf("%d documents %s later, expected %d", n, x.after, x.left)
				}
			}
		})
	}
}

// All parts of an account's dump that cannot be restored are printed by name, and the exit status is 1: documents
// that share an _id, indexes that the server refuses. The other parts are restored.
func TestRestoreNamesWhatIsLost(t *testing.T) {
	s := startBoth(t)
	dir := accountDump(t, accountIndexes+`,
		{"v": 1, "key": {"total": "nonsense"}, "name": "bad", "ns": "shop.orders"},
		{"v": 1, "key": {"last": 1}, "name": "last_1", "ns": "shop.orders"}`, accountDocuments())
	code, said := restored(t, s.URI(), dir)
	if code != 1 {
		t.Fatalf("status %d\n%s", code, said)
	}
	for _, want := range []string{
		"25 documents restored, 0 there already, 25 failed",
		"shop.orders: another document with _id 0 is there. In an account _id is only unique per shard key value",
		"--shard-key shop.orders=FIELD",
		"shop.orders has no index bad: ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	}
	got := indexes(t, s.db.Client().Database("shop"), "orders")
	for _, want := range []string{"$**_1", "customer_1_email_1", "_ts_1", "last_1"} {
		if got[want] == nil {
			t.Errorf("the index %s is missing: %v", want, got)
		}
	}
	// A document that a unique index refuses is lost as well.
	dir = accountDump(t, `, {"v": 1, "key": {"u": 1}, "name": "u_1", "ns": "shop.orders", "unique": true}`, []any{driver.M{"_id": 1, "u": 1}, driver.M{"_id": 2, "u": 1}})
	if code, said := restored(t, "--rename", "shop=unique", s.URI(), dir); code != 1 || !strings.Contains(said, "1 document restored, 0 there already, 1 failed") || !strings.Contains(said, "unique.orders: E11000") {
		t.Errorf("a unique index: status %d\n%s", code, said)
	}
	if code, said := restored(t, "--rename", "shop=typo", "--shard-key", "shop.ordes=customer", s.URI(), dir); code != 1 || !strings.Contains(said, "--shard-key shop.ordes: the dump has no such collection") {
		t.Errorf("a collection that is not there: status %d\n%s", code, said)
	}
	// By MongoDB's rules a unique index begins with the shard key; in the service, the shard key may stand anywhere
	// in it.
	dir = accountDump(t, `, {"v": 1, "key": {"email": 1, "customer": 1}, "name": "e", "ns": "shop.orders", "unique": true}`, accountDocuments())
	if code, said := restored(t, "--rename", "shop=prefix", "--shard-key", "customer", s.URI(), dir); code != 1 || !strings.Contains(said, "50 documents restored, 0 there already, 0 failed") || !strings.Contains(said, "prefix.orders has no index e: ") {
		t.Errorf("a unique index that does not begin with the shard key: status %d\n%s", code, said)
	}
	if code, said := restored(t, "--rename", "shop=anywhere", "--shard-key", "customer", s.CosmosURI(), dir); code != 0 {
		t.Errorf("a unique index with the shard key in it, through the Cosmos address: status %d\n%s", code, said)
	}
	if code, said := restored(t, "--shard-key", "orders=customer", s.URI(), dir); code != 2 {
		t.Errorf("no namespace: status %d\n%s", code, said)
	}
}

// An index {_ts: 1} in a dump expires documents by the date in _ts, as in MongoDB, if documents have dates there, or
// if the dump does not look like an account's. Otherwise, or with --expireAfterLastWrite, documents expire after
// their last write.
func TestRestoreOfExpiry(t *testing.T) {
	s := startBoth(t)
	lastWrite := func(db string) bool {
		for _, x := range run(t, s.db.Client().Database(db), `{customAction: "GetCollection", collection: "orders", showIndexes: true}`)["indexes"].(driver.A) {
			for _, e := range x.(driver.D) {
				if e.Key == "expireAfterLastWrite" {
					return true
				}
			}
		}
		return false
	}
	const account, mongodb = `, {"v": 1, "key": {"_ts": 1}, "name": "_ts_1", "ns": "shop.orders", "expireAfterSeconds": 60}`, `, {"v": 2, "key": {"_ts": 1}, "name": "_ts_1", "expireAfterSeconds": 60}`
	for i, c := range []struct {
		index string
		doc   any
		flag  string
		want  bool
	}{
		{account, driver.M{"_id": 1}, "", true},
		{account, driver.M{"_id": 1, "_ts": driver.DateTime(5)}, "", false},
		{account, driver.M{"_id": 1, "_ts": driver.A{1, driver.DateTime(5)}}, "", false},
		{mongodb, driver.M{"_id": 1}, "", false},
		{mongodb, driver.M{"_id": 1}, "--expireAfterLastWrite", true},
		{`, {"v": 2, "key": {"_ts": 1}, "name": "_ts_1", "expireAfterSeconds": -1}`, driver.M{"_id": 1}, "", true},
		{`, {"v": 2, "key": {"_ts": 1}, "name": "_ts_1", "expireAfterSeconds": 60, "expireAfterLastWrite": true}`, driver.M{"_id": 1}, "", true},
	} {
		name := fmt.Sprintf("case%d", i)
		args := []string{"--rename", "shop=" + name, s.URI(), accountDump(t, c.index, []any{c.doc})}
		if c.flag != "" {
			args = append([]string{c.flag}, args...)
		}
		code, said := restored(t, args...)
		if warned := strings.Contains(said, "restore it with --expireAfterLastWrite"); code != 0 || lastWrite(name) != c.want || warned != (i == 3) {
			t.Errorf("%s, %v: status %d, by the last write: %v\n%s", c.index, c.doc, code, lastWrite(name), said)
		}
	}
	// A dump that cantle makes records for each index whether it expires documents by the last write, through either
	// address.
	run(t, s.db, `{createIndexes: "mine", indexes: [{key: {_ts: 1}, name: "t", expireAfterSeconds: 60}]}`)
	run(t, s.account, `{createIndexes: "theirs", indexes: [{key: {_ts: 1}, name: "t", expireAfterSeconds: -1}]}`)
	for i, uri := range []string{s.URI(), s.CosmosURI()} {
		dir := t.TempDir()
		verb(t, "dump", "--db", "test", "--collection", "mine", "--out", dir, s.URI())
		verb(t, "dump", "--db", "test", "--collection", "theirs", "--out", dir, uri)
		to := fmt.Sprintf("again%d", i)
		verb(t, "restore", "--rename", "test="+to, s.URI(), dir)
		for coll, want := range map[string]string{"mine": `{"v":1,"key":{"_ts":1},"name":"t","ns":"X.mine","expireAfterSeconds":60}`,
			"theirs": `{"v":1,"key":{"_ts":1},"name":"t","ns":"X.theirs","expireAfterSeconds":-1,"expireAfterLastWrite":true}`} {
			list := run(t, s.db.Client().Database(to), `{customAction: "GetCollection", collection: "`+coll+`", showIndexes: true}`)["indexes"].(driver.A)
			raw, err := driver.Marshal(list[1])
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Replace(ejson.String(raw), to, "X", 1); got != want {
				t.Errorf("%s through %s: %s", coll, uri, got)
			}
		}
	}
}

// Dumps for MongoDB (--for mongodb) contain only parts that MongoDB accepts; the others are printed by collection.
func TestDumpForMongoDB(t *testing.T) {
	s := startBoth(t)
	run(t, s.account, `{customAction: "CreateCollection", collection: "orders", shardKey: "customer", offerThroughput: 4000}`)
	run(t, s.account, `{createIndexes: "orders", indexes: [{v: 1, key: {"$**": 1}, name: "all"}, {key: {_ts: 1}, name: "ttl", expireAfterSeconds: 3600}, {key: {a: 1}, name: "a"}]}`)
	if _, err := s.db.Collection("orders").InsertMany(t.Context(), accountDocuments()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Collection("plain").InsertMany(t.Context(), []any{driver.M{"_id": 1}}); err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{s.URI(), s.CosmosURI()} {
		dir := t.TempDir()
		var out strings.Builder
		code := verbStatus(t, "dump", "", io.Discard, &out, "--for", "mongodb", "--out", dir, uri)
		for _, want := range []string{
			`  test.orders: the shard key {"customer":"hashed"}`, `  test.orders: the throughput {"offerThroughput":4000}`,
			"  test.orders: the index ttl, which expires documents 3600 seconds after their last write",
			"test.orders: 25 documents have the same _id as a document with another shard key", "25 documents have the same _id as another document",
		} {
			if code != 1 || !strings.Contains(out.String(), want) {
				t.Errorf("status %d, %q is missing in\n%s", code, want, out.String())
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, "test", "orders.metadata.json"))
		if err != nil {
			t.Fatal(err)
		}
		m := bsontest.Doc(t, string(text))
		want := `[{"v":2,"key":{"_id":1},"name":"_id_"},{"v":2,"key":{"$**":1},"name":"all"},{"v":2,"key":{"a":1},"name":"a"}]`
		var got []string
		list, _ := m.Get("indexes").Array()
		for v := range list.Values() {
			x, _ := v.Doc()
			got = append(got, ejson.String(x))
		}
		if is := "[" + strings.Join(got, ",") + "]"; is != want {
			t.Errorf("%s\n%s", is, want)
		}
		for _, foreign := range []string{"ns", "expireAfterLastWrite", "cantle", "_ts"} {
			if strings.Contains(string(text), `"`+foreign+`"`) {
				t.Errorf("%s is in %s", foreign, text)
			}
		}
		if strings.Contains(out.String(), "test.plain: the") {
			t.Errorf("a plain collection:\n%s", out.String())
		}
	}
	if code := verbStatus(t, "dump", "", io.Discard, io.Discard, "--for", "oracle", s.URI()); code != 2 {
		t.Errorf("--for oracle: status %d", code)
	}
}

// cantle users creates, from the role and user files of the Azure CLI, the roles and users that the account has, and
// prints what it leaves out.
// Source: Azure Cosmos DB for MongoDB, "how-to-setup-rbac".
func TestUsersOfAccount(t *testing.T) {
	s := startBoth(t, "--auth")
	dir := t.TempDir()
	write := func(name, text string) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	users := func(uri string, files ...string) (int, string) {
		var out strings.Builder
		code := verbStatus(t, "users", "", &out, &out, append([]string{uri}, files...)...)
		return code, out.String()
	}
	run(t, s.db.Client().Database("admin"), `{createUser: "root", pwd: "secret", roles: ["root"]}`)
	as := func(user, source string) string {
		return strings.Replace(s.URI(), "mongodb://", "mongodb://"+user+"@", 1) + "?authSource=" + source
	}
	role := write("role.json", `{
	"Id": "test.My_Read_Only_Role101", "RoleName": "My_Read_Only_Role101", "Type": "CustomRole", "DatabaseName": "test",
	"Privileges": [{"Resource": {"Db": "test", "Collection": "test"}, "Actions": ["insert", "find", "listDatabases", "dbStats"]}], "Roles": []}`)
	user := write("user.json", `{
	"Id": "test.myName", "UserName": "myName", "Password": "pass", "DatabaseName": "test", "CustomData": "Some_Random_Info",
	"Mechanisms": "SCRAM-SHA-256", "Roles": [{"Role": "My_Read_Only_Role101", "Db": "test"}]}`)
	for _, want := range []string{"role test.My_Read_Only_Role101: created", "role test.My_Read_Only_Role101: existed already"} {
		if code, said := users(as("root:secret", "admin"), user, role); code != 0 || !strings.Contains(said, want) || !strings.Contains(said, "dbStats on the collection test.test is granted on the database test") {
			t.Errorf("status %d, %q is missing in\n%s", code, want, said)
		}
	}
	client, err := mongo.Connect(options.Client().ApplyURI(as("myName:pass", "test")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Disconnect(context.Background()) })
	if _, err := client.Database("test").Collection("test").InsertOne(t.Context(), driver.M{"a": 1}); err != nil {
		t.Errorf("what the role allows: %v", err)
	}
	if _, err := client.Database("test").Collection("other").InsertOne(t.Context(), driver.M{"a": 1}); !isCode(err, 13) {
		t.Errorf("what the role does not allow: %v", err)
	}
	// The form that `az cosmosdb mongodb role definition list` and `user definition list` print; one role inherits
	// the other.
	lists := write("list.json", `[
	{"databaseName": "test", "id": "/subscriptions/1/databaseAccounts/x/mongodbUserDefinitions/test.other", "userName": "other", "password": "", "mechanisms": "SCRAM-SHA-256", "roles": [{"db": "test", "role": "read"}]},
	{"databaseName": "test", "id": "/subscriptions/1/databaseAccounts/x/mongodbRoleDefinitions/test.Wider", "roleName": "Wider", "typePropertiesType": "1", "type": "Microsoft.DocumentDB/databaseAccounts/mongodbRoleDefinitions",
		"privileges": [{"actions": ["dropDatabase", "update"], "resource": {"collection": "test", "db": "test"}}], "roles": [{"db": "test", "role": "Narrow"}]},
	{"databaseName": "test", "id": "x/test.Narrow", "roleName": "Narrow", "typePropertiesType": "1", "privileges": [{"actions": ["find"], "resource": {"collection": "", "db": "test"}}], "roles": []},
	{"databaseName": "test", "id": "x/test.read", "roleName": "read", "typePropertiesType": "0", "privileges": [], "roles": []}]`)
	code, said := users(as("root:secret", "admin"), lists)
	for _, want := range []string{
		"user test.other: not created: the file has no password", "role test.Wider: created", "role test.Wider: left out: dropDatabase on the collection test.test",
		"role test.Narrow: created", "role test.read is built in",
	} {
		if code != 1 || !strings.Contains(said, want) {
			t.Errorf("status %d, %q is missing in\n%s", code, want, said)
		}
	}
	for _, bad := range []string{`{"a": 1}`, `[5]`, `nonsense`} {
		if code, said := users(as("root:secret", "admin"), write("bad.json", bad)); code != 1 || !strings.Contains(said, "bad.json") {
			t.Errorf("%s: status %d\n%s", bad, code, said)
		}
	}
	if code, said := users(as("root:secret", "admin"), write("role2.json", `{"RoleName": "r", "DatabaseName": "test", "Privileges": [{"Resource": {"Db": "test", "Collection": "c"}, "Actions": ["fly"]}], "Roles": []}`)); code != 1 || !strings.Contains(said, "role test.r: not created") {
		t.Errorf("an action that there is not: status %d\n%s", code, said)
	}
}

// documentsOf returns all documents of a collection, sorted by their contents.
func documentsOf(t *testing.T, db *mongo.Database, coll string) (out []string) {
	t.Helper()
	c, err := db.Collection(coll).Find(t.Context(), driver.D{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for c.Next(t.Context()) {
		out = append(out, ejson.Canonical(bson.Raw(c.Current)))
	}
	if c.Err() != nil {
		t.Fatal(c.Err())
	}
	slices.Sort(out)
	return out
}

// cantle restore loads a dump that mongodump, where it is installed, makes of an account, and mongorestore loads a
// dump for MongoDB: each document arrives unchanged.
func TestAccountWithMongoTools(t *testing.T) {
	mongodump, mongorestore := mongoTool(t, "mongodump"), mongoTool(t, "mongorestore")
	tool := func(name, uri string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, append(args, "--uri", uri)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	s, other := startBoth(t), startBoth(t)
	run(t, s.account, `{customAction: "CreateCollection", collection: "orders", shardKey: "customer", offerThroughput: 4000}`)
	run(t, s.account, `{createIndexes: "orders", indexes: [{v: 1, key: {"$**": 1}, name: "all"}, {key: {customer: 1, email: 1}, name: "u", unique: true}, {key: {_ts: 1}, name: "ttl", expireAfterSeconds: 3600}]}`)
	if _, err := s.db.Collection("orders").InsertMany(t.Context(), accountDocuments()); err != nil {
		t.Fatal(err)
	}
	want := documentsOf(t, s.db, "orders")
	dir := t.TempDir()
	tool(mongodump, s.CosmosURI(), "--db", "test", "--out", dir+"/account")
	for i, uri := range []string{other.URI(), other.CosmosURI()} {
		to := other.db.Client().Database(fmt.Sprintf("to%d", i))
		if code, said := restored(t, "--shard-key", "test.orders=customer", "--rename", "test="+to.Name(), uri, dir+"/account"); code != 0 {
			t.Fatalf("%s: status %d\n%s", to.Name(), code, said)
		}
		if got := documentsOf(t, to, "orders"); !slices.Equal(got, want) {
			t.Errorf("%s: %d documents that differ from the %d of the account", to.Name(), len(got), len(want))
		}
		if got := indexes(t, to, "orders"); len(got) != 4 || got["u"]["unique"] != true {
			t.Errorf("%s: indexes %v", to.Name(), got)
		}
		list := run(t, to, `{customAction: "GetCollection", collection: "orders", showIndexes: true}`)["indexes"]
		if !strings.Contains(fmt.Sprint(list), "expireAfterLastWrite") {
			t.Errorf("%s: documents do not expire by their last write: %v", to.Name(), list)
		}
	}
	// The MongoDB address stands for MongoDB: the target is an unsharded collection, and no documents share an _id.
	run(t, s.account, `{customAction: "CreateCollection", collection: "items", shardKey: "sku"}`)
	run(t, s.account, `{createIndexes: "items", indexes: [{v: 1, key: {"$**": 1}, name: "all"}, {key: {_ts: 1}, name: "ttl", expireAfterSeconds: -1}]}`)
	if _, err := s.db.Collection("items").InsertMany(t.Context(), []any{driver.M{"_id": 1, "sku": 5}, driver.M{"_id": "x", "sku": nil}}); err != nil {
		t.Fatal(err)
	}
	verb(t, "dump", "--for", "mongodb", "--db", "test", "--collection", "items", "--out", dir+"/mongodb", s.CosmosURI())
	tool(mongorestore, other.URI(), "--stopOnError", dir+"/mongodb")
	if got, want := documentsOf(t, other.db, "items"), documentsOf(t, s.db, "items"); !slices.Equal(got, want) {
		t.Errorf("mongorestore: %v, expected %v", got, want)
	}
	if got := indexes(t, other.db, "items"); len(got) != 2 || got["all"] == nil {
		t.Errorf("mongorestore: indexes %v", got)
	}
	// A dump that mongodump makes through the MongoDB address contains only parts that MongoDB accepts.
	tool(mongodump, s.URI(), "--db", "test", "--out", dir+"/plain")
	text, err := os.ReadFile(dir + "/plain/test/items.metadata.json")
	if err != nil || strings.Contains(string(text), "expireAfterLastWrite") || strings.Contains(string(text), `"-1"`) {
		t.Errorf("mongodump of the MongoDB address: %s %v", text, err)
	}
}

// The driver inside the verbs needs MongoDB 4.4. If an account shows an earlier version, the error of report and of
// doctor names the --listen address.
func TestEarlierVersionOfAccount(t *testing.T) {
	s := startBoth(t, "--cosmos-version", "4.2")
	for _, verb := range [][]string{{"report", "--timeout", "1s"}, {"doctor", "--timeout", "1s"}} {
		status, out := verbOut(t, verb[0], append(verb[1:], s.CosmosURI()+"&heartbeatFrequencyMS=500")...)
		if status == 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), "use its --listen address") {
			t.Errorf("%s: %d, %s", verb[0], status, out)
		}
	}
}
