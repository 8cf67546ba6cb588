package auth

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// userWith creates a user of the database admin, and returns a client that is logged in as that user. roles is the
// array of the user's roles, in extended JSON.
func userWith(t *testing.T, s *harness.Server, root *mongo.Client, name, roles string) *mongo.Client {
	t.Helper()
	bsontest.Must(t, run(t, root, "admin", parse(t, `{"createUser": "`+name+`", "pwd": "pass", "roles": `+roles+`}`)))
	return as(t, s, options.Credential{Username: name, Password: "pass"})
}

// TestTenantsBudget checks that the owner of a database with a budget (RU/s) cannot choose another budget, remove the
// budget by recreating the database, or grant itself the privilege for that. An administrator can grant that
// privilege for one database.
func TestTenantsBudget(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	createRoot(t, dial(t, s.URI))
	root := as(t, s, rootCredential)
	owner := userWith(t, s, root, "owner", `[{"role": "dbOwner", "db": "shop"}]`)
	manager := userWith(t, s, root, "manager", `["clusterManager"]`)
	expect := func(c *mongo.Client, db, cmd string, want int) {
		t.Helper()
		if err := run(t, c, db, parse(t, cmd)); code(err) != want {
			t.Errorf("%s: %v, not code %d", cmd, err, want)
		}
	}
	refused := func() {
		t.Helper()
		for _, cmd := range []string{
			`{"customAction": "CreateCollection", "collection": "c", "shardKey": "k", "offerThroughput": 100000}`,
			`{"customAction": "CreateCollection", "collection": "c", "serverless": true}`,
			`{"customAction": "CreateCollection", "collection": "c", "shardKey": "k", "autoScaleSettings": {"maxThroughput": 100000}}`,
			`{"customAction": "CreateCollection", "collection": "c", "shardKey": "k", "burst": true}`,
			`{"customAction": "CreateDatabase", "offerThroughput": 100000}`,
			`{"customAction": "UpdateDatabase", "offerThroughput": 100000}`,
			`{"customAction": "UpdateDatabase", "throughputBuckets": []}`,
			`{"customAction": "UpdateCollection", "collection": "c", "offerThroughput": 100000}`,
			`{"customAction": "UpdateCollection", "collection": "c", "tenants": {}}`,
			`{"customAction": "MigrateThroughput", "throughputType": "autoscale"}`,
			`{"customAction": "RedistributeThroughput", "collection": "c", "equal": true}`,
		} {
			expect(owner, "shop", cmd, 13)
		}
	}
	shares := func(want int32) {
		t.Helper()
		var reply struct{ ProvisionedThroughput int32 }
		bsontest.Must(t, root.Database("shop").RunCommand(t.Context(), parse(t, `{"customAction": "GetDatabase"}`)).Decode(&reply))
		if reply.ProvisionedThroughput != want {
			t.Errorf("the database shares %d RU/s, not %d", reply.ProvisionedThroughput, want)
		}
	}
	expect(root, "shop", `{"customAction": "CreateDatabase", "offerThroughput": 1000}`, 0)
	refused()
	expect(owner, "shop", `{"customAction": "CreateCollection", "collection": "c", "shardKey": "k"}`, 0)
	var stats struct {
		RequestUnits struct{ SharesDatabaseThroughput bool }
	}
	bsontest.Must(t, owner.Database("shop").RunCommand(t.Context(), parse(t, `{"collStats": "c"}`)).Decode(&stats))
	if !stats.RequestUnits.SharesDatabaseThroughput {
		t.Error("a new collection does not share the budget of its database")
	}
	expect(owner, "shop", `{"dropDatabase": 1}`, 0)
	expect(owner, "shop", `{"insert": "c", "documents": [{"_id": 1}]}`, 0)
	shares(1000)

	whole := `"privileges": [{"resource": {"db": "shop", "collection": ""}, "actions": `
	expect(owner, "shop", `{"createRole": "more", "roles": [], `+whole+`["setThroughput"]}]}`, 49)
	expect(owner, "shop", `{"createRole": "more", "roles": [], `+whole+`["find", "setThroughput"]}]}`, 49)
	expect(owner, "shop", `{"createRole": "all", "roles": [], `+whole+`["anyAction"]}]}`, 0)
	expect(owner, "shop", `{"grantPrivilegesToRole": "all", `+whole+`["setThroughput"]}]}`, 49)
	expect(owner, "shop", `{"revokePrivilegesFromRole": "all", `+whole+`["find"]}]}`, 0)
	expect(root, "admin", `{"grantRolesToUser": "owner", "roles": [{"role": "all", "db": "shop"}]}`, 0)
	refused()

	expect(manager, "shop", `{"customAction": "UpdateDatabase", "offerThroughput": 2000}`, 0)
	shares(2000)
	expect(root, "admin", `{"createRole": "shopBudget", "roles": [], `+whole+`["setThroughput"]}]}`, 0)
	expect(root, "admin", `{"grantRolesToUser": "owner", "roles": ["shopBudget"]}`, 0)
	expect(owner, "shop", `{"customAction": "UpdateDatabase", "offerThroughput": 3000}`, 0)
	shares(3000)
	expect(owner, "other", `{"customAction": "UpdateDatabase", "offerThroughput": 3000}`, 13)
	expect(owner, "shop", `{"dropDatabase": 1}`, 0)
	expect(root, "shop", `{"customAction": "GetDatabase"}`, 26)
}
