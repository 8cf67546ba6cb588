package rooms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// needsOf holds a command and the privileges that it needs, each as "resource: action". A resource is "cluster", a
// database with a dot at its end, or a namespace.
type needsOf struct {
	cmd  string
	need []string
}

// argumentNeeds lists examples with the needed privileges, for the commands whose privileges depend on their arguments
// or whose rows have Also. Entries with the same command are alternatives. For all other commands, tableNeeds derives
// the privileges from the row.
var argumentNeeds = map[string][]needsOf{
	"addShardToZone": {
		{`{addShardToZone: "x", zone: "z", $db: "admin"}`, []string{"config.shards: update"}},
		{`{addShardToZone: "x", zone: "z", $db: "admin"}`, []string{"cluster: enableSharding"}},
	},
	"aggregate": {
		{`{aggregate: "c", pipeline: [], cursor: {}}`, []string{"test.c: find"}},
		{`{aggregate: "c", pipeline: [{$lookup: {from: "d", pipeline: [{$unionWith: "e"}], as: "x"}}], cursor: {}}`, []string{"test.c: find", "test.d: find", "test.e: find"}},
		{`{aggregate: "c", pipeline: [{$facet: {x: [{$graphLookup: {from: "d", startWith: "$a", connectFromField: "a", connectToField: "b", as: "x"}}]}}], cursor: {}}`,
			[]string{"test.c: find", "test.d: find"}},
		{`{aggregate: "c", pipeline: [{$unionWith: {coll: "d", pipeline: [{$collStats: {}}]}}], cursor: {}}`, []string{"test.c: find", "test.d: find", "test.d: collStats"}},
		{`{aggregate: "c", pipeline: [{$out: {db: "other", coll: "d"}}], cursor: {}}`, []string{"test.c: find", "other.d: insert", "other.d: remove"}},
		{`{aggregate: "c", pipeline: [{$merge: "d"}], cursor: {}, bypassDocumentValidation: true}`,
			[]string{"test.c: find", "test.d: insert", "test.d: update", "test.d: bypassDocumentValidation"}},
		{`{aggregate: "c", pipeline: [{$merge: {into: "d", whenMatched: "fail"}}], cursor: {}}`, []string{"test.c: find", "test.d: insert"}},
		{`{aggregate: "c", pipeline: [{$merge: {into: "d", whenNotMatched: "discard"}}], cursor: {}}`, []string{"test.c: find", "test.d: update"}},
		{`{aggregate: "c", pipeline: [{$collStats: {}}], cursor: {}}`, []string{"test.c: collStats"}},
		{`{aggregate: "c", pipeline: [{$indexStats: {}}], cursor: {}}`, []string{"test.c: indexStats"}},
		{`{aggregate: "c", pipeline: [{$planCacheStats: {}}], cursor: {}}`, []string{"test.c: planCacheRead"}},
		{`{aggregate: "c", pipeline: [{$changeStream: {}}], cursor: {}}`, []string{"test.c: find", "test.c: changeStream"}},
		{`{aggregate: 1, pipeline: [{$changeStream: {}}], cursor: {}}`, []string{"test.: find", "test.: changeStream"}},
		{`{aggregate: 1, pipeline: [{$currentOp: {allUsers: true}}], cursor: {}, $db: "admin"}`, []string{"cluster: inprog"}},
		{`{aggregate: 1, pipeline: [{$listLocalSessions: {allUsers: true}}], cursor: {}}`, []string{"cluster: listSessions"}},
		{`{aggregate: 1, pipeline: [{$shardedDataDistribution: {}}], cursor: {}, $db: "admin"}`, []string{"cluster: shardedDataDistribution"}},
		{`{aggregate: 1, pipeline: [{$listClusterCatalog: {}}], cursor: {}}`, []string{"test.: listClusterCatalog"}},
		{`{aggregate: 1, pipeline: [{$documents: []}, {$lookup: {from: "d", pipeline: [], as: "x"}}], cursor: {}}`, []string{"test.d: find"}},
	},
	"applyOps": {
		{`{applyOps: [{op: "i", ns: "test.c", o: {_id: 1}}, {op: "d", ns: "other.c", o: {_id: 1}}, {op: "n", ns: "", o: {}}], $db: "admin"}`,
			[]string{"test.c: insert", "test.c: update", "other.c: remove", "cluster: appendOplogNote"}},
		{`{applyOps: [{op: "u", ns: "test.c", ui: {$uuid: "00000000-0000-4000-8000-000000000001"}, o2: {_id: 1}, o: {$v: 2, diff: {}}}], $db: "admin"}`,
			[]string{"test.c: insert", "test.c: update", "cluster: useUUID", "cluster: forceUUID"}},
		{`{applyOps: [{op: "c", ns: "other.$cmd", o: {drop: "c"}}, {op: "c", ns: "admin.$cmd", o: {applyOps: [{op: "d", ns: "test.c", o: {_id: 1}}]}}], $db: "admin"}`,
			[]string{"other.c: dropCollection", "test.c: remove"}},
	},
	"autoCompact":              {{`{autoCompact: true, $db: "admin"}`, []string{"cluster: compact"}}},
	"balancerCollectionStatus": {{`{balancerCollectionStatus: "test.c", $db: "admin"}`, []string{"config.settings: find"}}},
	"balancerStart":            {{`{balancerStart: 1, $db: "admin"}`, []string{"config.settings: update"}}},
	"balancerStatus":           {{`{balancerStatus: 1, $db: "admin"}`, []string{"config.settings: find"}}},
	"balancerStop":             {{`{balancerStop: 1, $db: "admin"}`, []string{"config.settings: update"}}},
	"bulkWrite": {{`{bulkWrite: 1, ops: [{insert: 0, document: {}}, {update: 1, filter: {}, updateMods: {$set: {a: 1}}, upsert: true}, {delete: 2, filter: {}}],
		nsInfo: [{ns: "test.a"}, {ns: "test.b"}, {ns: "other.c"}], $db: "admin"}`, []string{"test.a: insert", "test.b: update", "test.b: insert", "other.c: remove"}}},
	"cloneCollectionAsCapped": {{`{cloneCollectionAsCapped: "c", toCollection: "d", size: 4096}`,
		[]string{"test.c: find", "test.d: insert", "test.d: createIndex", "test.d: convertToCapped"}}},
	"collMod": {
		{`{collMod: "c"}`, []string{"test.c: collMod"}},
	},
	"create": {
		{`{create: "n"}`, []string{"test.n: insert"}},
		{`{create: "m"}`, []string{"test.m: createCollection"}},
		{`{create: "cap", capped: true, size: 4096}`, []string{"test.cap: createCollection", "test.cap: convertToCapped"}},
	},
	"createRole": {{`{createRole: "r", roles: [{role: "read", db: "a"}], privileges: [{resource: {db: "b", collection: "c"}, actions: ["find"]}], authenticationRestrictions: [], $db: "admin"}`,
		[]string{"admin.: createRole", "a.: grantRole", "b.: grantRole", "admin.: setAuthenticationRestriction"}}},
	"createUser": {{`{createUser: "u", pwd: "p", roles: [{role: "read", db: "a"}], authenticationRestrictions: []}`,
		[]string{"test.: createUser", "a.: grantRole", "test.: setAuthenticationRestriction"}}},
	"currentOp": {{`{currentOp: 1, $db: "admin"}`, []string{"cluster: inprog"}}},
	"customAction": {{`{customAction: "GetCollection", collection: "c"}`, []string{"test.c: collStats"}}, {`{customAction: "GetDatabase"}`, []string{"test.: dbStats"}},
		{`{customAction: "CreateCollection", collection: "c"}`, []string{"test.c: createCollection"}},
		{`{customAction: "CreateCollection", collection: "c", offerThroughput: 1000}`, []string{"test.c: createCollection", "test.c: setThroughput"}},
		{`{customAction: "CreateCollection", collection: "c", autoScaleSettings: {maxThroughput: 4000}}`, []string{"test.c: createCollection", "test.c: setThroughput"}},
		{`{customAction: "CreateCollection", collection: "c", serverless: true}`, []string{"test.c: createCollection", "test.c: setThroughput"}},
		{`{customAction: "CreateCollection", collection: "c", burst: true}`, []string{"test.c: createCollection", "test.c: setThroughput"}},
		{`{customAction: "CreateDatabase", offerThroughput: 1000}`, []string{"test.: createCollection", "test.: setThroughput"}},
		{`{customAction: "UpdateCollection", collection: "c", offerThroughput: 1000}`, []string{"test.c: setThroughput"}},
		{`{customAction: "UpdateCollection", collection: "c", throughputBuckets: [], indexes: [{key: {_id: 1}}]}`, []string{"test.c: setThroughput", "test.c: collMod"}},
		{`{customAction: "UpdateCollection", collection: "c", indexes: [{key: {_id: 1}}]}`, []string{"test.c: collMod"}},
		{`{customAction: "UpdateDatabase", serverSideRetry: true}`, []string{"test.: setThroughput"}},
		{`{customAction: "MigrateThroughput", throughputType: "manual"}`, []string{"test.: setThroughput"}},
		{`{customAction: "PrepareThroughput", collection: "c", cancel: true}`, []string{"test.c: setThroughput"}},
		{`{customAction: "PrepareThroughput", cancel: true}`, []string{"test.: setThroughput"}},
		{`{customAction: "RedistributeThroughput", collection: "c", equal: true}`, []string{"test.c: setThroughput"}},
		{`{customAction: "ScheduleThroughput", schedule: []}`, []string{"test.: setThroughput"}},
		{`{customAction: "MergePartitions", collection: "c"}`, []string{"test.c: splitChunk"}},
	},
	"enableSharding": {{`{enableSharding: "x", $db: "admin"}`, []string{"x.: enableSharding"}}},
	"explain": {
		{`{explain: {find: "c"}}`, []string{"test.c: find"}},
		{`{explain: {update: "c", updates: [{q: {}, u: {$set: {a: 1}}, upsert: true}]}}`, []string{"test.c: update", "test.c: insert"}},
		{`{explain: {aggregate: "c", pipeline: [{$unionWith: "d"}], cursor: {}}}`, []string{"test.c: find", "test.d: find"}},
	},
	"findAndModify": {
		{`{findAndModify: "c", query: {}, update: {$set: {a: 1}}, upsert: true}`, []string{"test.c: find", "test.c: update", "test.c: insert"}},
		{`{findAndModify: "c", query: {}, remove: true}`, []string{"test.c: find", "test.c: remove"}},
	},
	"grantPrivilegesToRole": {{`{grantPrivilegesToRole: "r", privileges: [{resource: {db: "b", collection: ""}, actions: ["find"]}]}`, []string{"test.: grantRole", "b.: grantRole"}}},
	"grantRolesToRole":      {{`{grantRolesToRole: "r", roles: [{role: "read", db: "a"}]}`, []string{"a.: grantRole"}}},
	"grantRolesToUser":      {{`{grantRolesToUser: "u", roles: ["read"]}`, []string{"test.: grantRole"}}},
	"getDiagnosticData":     {{`{getDiagnosticData: 1, $db: "admin"}`, []string{"cluster: serverStatus", "cluster: replSetGetStatus"}}},
	"insert": {
		{`{insert: "c", documents: [{}]}`, []string{"test.c: insert"}},
		{`{insert: "c", documents: [{}], bypassDocumentValidation: true}`, []string{"test.c: insert", "test.c: bypassDocumentValidation"}},
	},
	"killAllSessionsByPattern": {
		{`{killAllSessionsByPattern: []}`, []string{"cluster: killAnySession"}},
		{`{killAllSessionsByPattern: [{users: [{user: "x", db: "y"}]}]}`, []string{"cluster: killAnySession", "cluster: impersonate"}},
		{`{killAllSessionsByPattern: [{roles: []}]}`, []string{"cluster: killAnySession", "cluster: impersonate"}},
	},
	"killOp":          {{`{killOp: 1, op: 99999, $db: "admin"}`, []string{"cluster: killop"}}},
	"listCollections": {{`{listCollections: 1}`, []string{"test.: listCollections"}}},
	"listDatabases":   {{`{listDatabases: 1, authorizedDatabases: false, $db: "admin"}`, []string{"cluster: listDatabases"}}},
	"mapReduce": {
		{`{mapReduce: "c", map: "function() {}", reduce: "function() {}", out: {inline: 1}}`, []string{"test.c: find"}},
		{`{mapReduce: "c", map: "function() {}", reduce: "function() {}", out: {replace: "o", db: "other"}}`, []string{"test.c: find", "other.o: insert", "other.o: remove"}},
	},
	"profile": {
		{`{profile: 0}`, []string{"test.: enableProfiler"}},
		{`{profile: -1}`, []string{"test.system.profile: find"}},
		{`{profile: -1, slowms: 100}`, []string{"test.: enableProfiler"}},
	},
	"removeShardFromZone": {{`{removeShardFromZone: "x", zone: "z", $db: "admin"}`, []string{"cluster: enableSharding"}}},
	"renameCollection": {
		{`{renameCollection: "test.c", to: "test.e", dropTarget: true, $db: "admin"}`, []string{"test.c: renameCollectionSameDB", "test.e: renameCollectionSameDB", "test.e: dropCollection"}},
		{`{renameCollection: "test.c", to: "other.e", $db: "admin"}`, []string{"test.c: find", "test.c: dropCollection", "other.e: insert", "other.e: createIndex"}},
	},
	"revokePrivilegesFromRole": {{`{revokePrivilegesFromRole: "r", privileges: [{resource: {db: "b", collection: ""}, actions: ["find"]}]}`, []string{"test.: revokeRole", "b.: revokeRole"}}},
	"revokeRolesFromRole":      {{`{revokeRolesFromRole: "r", roles: ["read"]}`, []string{"test.: revokeRole"}}},
	"revokeRolesFromUser":      {{`{revokeRolesFromUser: "u", roles: ["read"]}`, []string{"test.: revokeRole"}}},
	"rolesInfo":                {{`{rolesInfo: 1}`, []string{"test.: viewRole"}}, {`{rolesInfo: {role: "read", db: "x"}}`, []string{"x.: viewRole"}}},
	"update": {
		{`{update: "c", updates: [{q: {}, u: {$set: {a: 1}}}]}`, []string{"test.c: update"}},
		{`{update: "c", updates: [{q: {}, u: {$set: {a: 1}}}, {q: {}, u: {$set: {a: 1}}, upsert: true}]}`, []string{"test.c: update", "test.c: insert"}},
	},
	"updateRole":         {{`{updateRole: "r", roles: [{role: "read", db: "a"}]}`, []string{"test.: revokeRole", "a.: grantRole"}}},
	"updateUser":         {{`{updateUser: "u", pwd: "x"}`, []string{"test.: changePassword"}}, {`{updateUser: "u", customData: {}}`, []string{"test.: changeCustomData"}}},
	"updateZoneKeyRange": {{`{updateZoneKeyRange: "test.c", min: {_id: 1}, max: {_id: 2}, zone: null, $db: "admin"}`, []string{"config.shards: update"}}},
	"validateDBMetadata": {
		{`{validateDBMetadata: 1, apiParameters: {version: "1"}, db: "x"}`, []string{"x.: validate"}},
		{`{validateDBMetadata: 1, apiParameters: {version: "1"}, db: "x", collection: "c"}`, []string{"x.c: validate"}},
		{`{validateDBMetadata: 1, apiParameters: {version: "1"}}`, []string{".: validate"}},
	},
	"usersInfo": {{`{usersInfo: 1}`, []string{"test.: viewUser"}}, {`{usersInfo: {user: "u", db: "x"}}`, []string{"x.: viewUser"}}},
}

// privileges parses privileges of the form "resource: action".
func privileges(t *testing.T, list []string) (out []auth.Privilege) {
	t.Helper()
	for _, s := range list {
		where, name, _ := strings.Cut(s, ": ")
		a, ok := auth.ActionNamed(name)
		if !ok {
			t.Fatalf("%q is no action", name)
		}
		r := auth.Cluster
		if where != "cluster" {
			r = auth.Resource{}
			r.DB, r.Coll, _ = strings.Cut(where, ".")
		}
		out = append(out, auth.Privilege{Resource: r, Actions: auth.MakeActions(a)})
	}
	return out
}

// dialWith returns a connection on which a user with exactly the given privileges, each as "resource: action", is
// logged in without authentication.
func (w *world) dialWith(t *testing.T, need []string) *client {
	t.Helper()
	c := w.dial()
	w.enter(c, &command.Login{Name: auth.Name{Name: "tester", DB: "test"}, Version: w.Auth.Version(), Grants: auth.NewGrants(privileges(t, need))})
	return c
}

// tableNeeds returns an example of the command of a row, with the privileges that the row requires.
func tableNeeds(d *command.Def) needsOf {
	value, db := "1", "test"
	switch d.Namespace {
	case command.FirstField:
		value = `"c"`
	case command.FullName:
		value = `"test.c"`
	}
	if d.Facts.Has(command.AdminOnly) {
		db = "admin"
	}
	n := needsOf{cmd: fmt.Sprintf(`{%s: %s, $db: "%s"}`, d.Name, value, db)}
	a, ok := auth.ActionNamed(d.Action)
	switch {
	case !ok: // a login only, or nothing
	case a.OfCluster():
		n.need = []string{"cluster: " + d.Action}
	case d.Namespace == command.NoNamespace:
		n.need = []string{db + ".: " + d.Action}
	default:
		n.need = []string{"test.c: " + d.Action}
	}
	return n
}

// TestPrivileges checks that every command runs with exactly the privileges that it needs. It is refused if one of
// them is missing, for a user without privileges, and without a login, except for commands that are allowed before a
// login.
func TestPrivileges(t *testing.T) {
	for _, row := range Commands() {
		name := row.Name
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.RequireAuth, w.JavaScript = true, true
			d := w.Lookup(name)
			if d.Facts.Has(command.AccountOnly) {
				w.tag = command.TagCosmos
			}
			cases := argumentNeeds[name]
			if len(d.ArgumentActions) > 0 && cases == nil {
				t.Fatal("needs privileges by its arguments; argumentNeeds has none")
			}
			if len(d.ArgumentActions) == 0 && cases == nil {
				cases = append(cases, tableNeeds(d))
			}
			for _, n := range cases {
				// The text of the error distinguishes missing privileges from other uses of the same error code.
				refused := func(c *client, text string) bool {
					r := c.run(n.cmd)
					s, _ := r.Get("errmsg").Str()
					return number(r.Get("code")) == 13 && strings.Contains(s, text)
				}
				if got := refused(w.dial(), "requires authentication"); got != (d.Action != "") {
					t.Errorf("%s by nobody: refused %v", n.cmd, got)
				}
				if refused(w.dialWith(t, n.need), "not authorized") {
					t.Errorf("%s with %q is refused", n.cmd, n.need)
				}
				for i := range n.need {
					less := append(append([]string(nil), n.need[:i]...), n.need[i+1:]...)
					if !refused(w.dialWith(t, less), "not authorized") {
						t.Errorf("%s without %q is not refused", n.cmd, n.need[i])
					}
				}
			}
		})
	}
}
