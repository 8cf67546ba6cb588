package cli

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/cmd/cantle/address"
)

// catalogOfMongoDB makes collections with features that an account of Azure Cosmos DB has, and some with features
// that it lacks.
func catalogOfMongoDB(t *testing.T, db *mongo.Database) {
	t.Helper()
	for _, command := range []string{
		`{create: "checked", validator: {$jsonSchema: {required: ["a"]}}}`,
		`{create: "last", capped: true, size: 4096}`,
		`{create: "byid", clusteredIndex: {key: {_id: 1}, unique: true, name: "pk"}}`,
		`{create: "measured", timeseries: {timeField: "at", metaField: "m"}, expireAfterSeconds: 60}`,
		`{create: "french", collation: {locale: "fr"}}`,
		`{createIndexes: "french", indexes: [{key: {a: 1}, name: "simple", collation: {locale: "simple"}}]}`,
		`{create: "seen", viewOn: "checked", pipeline: [{$unionWith: "last"}]}`,
		`{create: "plain"}`,
		`{insert: "plain", documents: [{_id: 1, a: 1}]}`,
		`{createIndexes: "plain", indexes: [{key: {a: 1, b: -1}, name: "ab"}, {key: {place: "2dsphere"}, name: "place"}, {key: {"$**": 1}, name: "all"},
			{key: {u: 1}, name: "u", unique: true}, {key: {h: 1}, name: "h", hidden: true}]}`,
		`{create: "orders"}`,
		`{createIndexes: "orders", indexes: [{key: {customer: "hashed"}, name: "key"}, {key: {note: "text"}, name: "text"}, {key: {at: 1}, name: "at", expireAfterSeconds: 5},
			{key: {"ship.city": 1, total: 1}, name: "city", sparse: true}, {key: {open: 1}, name: "open", partialFilterExpression: {open: true}}]}`,
	} {
		run(t, db, command)
	}
}

// foundInCatalog are the findings of catalogOfMongoDB.
var foundInCatalog = []string{
	"test.byid|1|parsed|clustered collections|",
	"test.checked|1|parsed|$jsonSchema|query operators|",
	"test.checked|1|parsed|validators of collections|",
	"test.french|1|parsed|a collation of a collection|",
	"test.last|1|parsed|capped collections|",
	"test.measured|1|parsed|time series collections|",
	"test.orders index at|1|parsed|a TTL index on a field other than _ts|options, limits and rules of indexes|capability EnableTtlOnCustomPath|",
	"test.orders index city|1|parsed|compound and unique indexes on nested fields|",
	"test.orders index city|1|parsed|sparse indexes|",
	"test.orders index key|1|parsed|hashed|kinds of index|",
	"test.orders index open|1|parsed|a partialFilterExpression of an index that is not unique|",
	"test.orders index text|1|parsed|text|kinds of index|",
	"test.seen|1|parsed|$unionWith|aggregation stages|",
	"test.seen|1|parsed|views|",
}

// cantle lint checks the catalog of any server by the rules of an account, and lists the features that clients used,
// by application.
func TestLintServer(t *testing.T) {
	uri, db := start(t)
	if status, out, errs := lintOf(t, nil, uri); status != 0 || errs != "" || out != "Azure Cosmos DB for MongoDB 7.0 refuses nothing; checked: no command, source file or collection\n" {
		t.Errorf("an empty server: status %d, %s%s", status, out, errs)
	}
	catalogOfMongoDB(t, db)
	status, out, errs := lintOf(t, nil, uri)
	if status != 1 || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	wantFindings(t, out, foundInCatalog...)
	if !strings.HasSuffix(out, " features; checked: 8 collections\n") {
		t.Error(out)
	}

	run(t, db, `{drop: "orders"}`)
	s := startBoth(t, "--cosmos-lenient")
	run(t, s.account, `{customAction: "CreateCollection", collection: "orders", shardKey: "customer", indexes: [{key: {_id: 1}, name: "_id_"}, {key: {customer: 1, mail: 1}, name: "mail", unique: true}]}`)
	run(t, s.account, `{createIndexes: "orders", indexes: [{key: {_ts: 1}, name: "ts", expireAfterSeconds: 60}]}`)
	if status, out, errs := lintOf(t, nil, s.CosmosURI()); status != 0 || errs != "" || !strings.HasSuffix(out, "refuses nothing; checked: 1 collection\n") {
		t.Errorf("what an account has: status %d, %s%s", status, out, errs)
	}
	client, err := mongo.Connect(options.Client().ApplyURI(s.CosmosURI()).SetAppName("shop"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	for range 2 {
		run(t, client.Database("test"), `{aggregate: "orders", pipeline: [{$bucketAuto: {groupBy: "$a", buckets: 2}}, {$sort: {_id: 1}}], cursor: {}}`)
	}
	run(t, s.account, `{find: "orders", filter: {$where: "true"}, collation: {locale: "simple"}}`)
	status, out, errs = lintOf(t, nil, "--for", "cosmos-6.0", s.URI())
	if status != 1 || errs != "the server counts features that Azure Cosmos DB for MongoDB 7.0 refuses, not Azure Cosmos DB for MongoDB 6.0: start it with the same --cosmos-version and --cosmos-capabilities\n" {
		t.Errorf("status %d, %s", status, errs)
	}
	wantFindings(t, out, "an application without a name|1|served|$where|query operators|-|115 '$where' is not supported",
		"an application without a name|1|served|a collation of a command|", "application shop|2|served|$bucketAuto|aggregation stages|-|")

	const capability = "EnableMongoRetryableWrites"
	s = startBoth(t, "--cosmos-lenient", "--cosmos-capabilities", capability)
	run(t, s.account, `{customAction: "CreateCollection", collection: "orders", shardKey: "customer"}`)
	run(t, s.account, `{delete: "orders", deletes: [{q: {total: 0}, limit: 0}]}`)
	status, out, errs = lintOf(t, nil, "--capabilities", capability, s.URI())
	if status != 1 || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	if status, _, errs = lintOf(t, nil, s.URI()); status != 0 || !strings.HasPrefix(errs, "the server counts features that Azure Cosmos DB for MongoDB 7.0 with "+capability+" refuses, not Azure Cosmos DB for MongoDB 7.0: ") {
		t.Errorf("other capabilities: status %d, %s", status, errs)
	}
	wantFindings(t, out, "an application without a name|1|served|a write to many documents of a sharded collection without its shard key|options, limits and rules of indexes|no capability "+capability+"|61 ")
}

// If the user lacks rights, cantle lint lists the missing ones and checks the readable part. It retries requests that
// the server throttles.
func TestLintServerRights(t *testing.T) {
	t.Parallel()
	uri, db := start(t, "--auth", "--enable-test-commands")
	admin := db.Client().Database("admin")
	run(t, admin, `{createUser: "root", pwd: "pwd", roles: ["root"]}`)
	as := func(user string) string { return strings.Replace(uri, "mongodb://", "mongodb://"+user+":pwd@", 1) }
	client, err := mongo.Connect(options.Client().ApplyURI(as("root")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	admin, db = client.Database("admin"), client.Database("test")
	for _, command := range []string{
		`{createUser: "reader", pwd: "pwd", roles: [{role: "read", db: "test"}]}`,
		`{createUser: "all", pwd: "pwd", roles: ["readAnyDatabase"]}`,
		`{createUser: "lists", pwd: "pwd", roles: ["clusterMonitor"]}`,
	} {
		run(t, admin, command)
	}
	catalogOfMongoDB(t, db)
	run(t, admin, `{shardCollection: "test.orders", key: {customer: "hashed"}}`)
	run(t, admin, `{shardCollection: "test.ranged", key: {region: 1, "at.day": 1}, unique: true}`)
	run(t, db, `{createIndexes: "french", indexes: [{key: {k: 1}, name: "key", collation: {locale: "simple"}}]}`)
	run(t, admin, `{shardCollection: "test.french", key: {k: 1}, collation: {locale: "simple"}}`)
	run(t, client.Database("other"), `{create: "c"}`)
	const requests = "requests of clients are not checked: this requires the role dbAdminAnyDatabase\n"
	for _, user := range []string{"reader", "all"} {
		status, out, errs := lintOf(t, nil, as(user))
		if status != 1 || errs != requests {
			t.Errorf("%s: status %d, %s%s", user, status, out, errs)
		}
		wantFindings(t, out, foundInCatalog...)
	}
	status, _, errs := lintOf(t, nil, as("lists"))
	if status != 1 || !strings.Contains(errs, "\ntest: not authorized on test to execute command") ||
		!strings.Contains(errs, "a part of "+address.Redact(as("lists"))+" was not checked, because the user may not read it: this requires the role readAnyDatabase") {
		t.Errorf("clusterMonitor: status %d, %s", status, errs)
	}
	var advice strings.Builder
	if code := verbStatus(t, "advise", "", &advice, &advice, as("lists"), "test.orders"); code != 1 || !strings.Contains(advice.String(), "documents of test.orders: grant it the role read on the database test\n") {
		t.Errorf("advise: status %d, %s", code, advice.String())
	}

	run(t, admin, `{configureFailPoint: "failCommand", mode: {times: 2}, data: {failCommands: ["listIndexes"], errorCode: 16500}}`)
	if status, out, errs := lintOf(t, nil, as("all")); status != 1 || !strings.HasSuffix(errs, "throttled 2 times, waited 200ms\n") {
		t.Errorf("throttled: status %d, %s%s", status, out, errs)
	}
	run(t, admin, `{configureFailPoint: "failCommand", mode: "alwaysOn", data: {failCommands: ["listIndexes"], errorCode: 16500}}`)
	if status, _, errs := lintOf(t, nil, "--timeout", "5s", as("all")); status != 1 || !strings.Contains(errs, " had no throughput left for 5s (throttled ") {
		t.Errorf("throttled for long: status %d, %s", status, errs)
	}
	if status, _, errs := lintOf(t, nil, "--timeout", "200ms", "mongodb://127.0.0.1:1/"); status != 1 || !strings.Contains(errs, "mongodb://127.0.0.1:1/ was not read within 200ms; is the server running?") {
		t.Errorf("no server: status %d, %s", status, errs)
	}
}
