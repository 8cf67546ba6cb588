package cosmos

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/collection/cosmos"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// tried is a server whose Cosmos address has a certain account, and a connection to that address.
type tried struct {
	account *cosmos.Account
	conn    *harness.Conn
}

// startTried starts a server with an account.
func startTried(t *testing.T, a *cosmos.Account) *tried {
	t.Helper()
	args := []string{"--enable-test-commands", "--cosmos-version", a.Version.String(), "--cosmos-capabilities", strings.ReplaceAll(a.Capabilities.String(), " ", "")}
	if a.Lenient {
		args = append(args, "--cosmos-lenient")
	}
	x := &tried{a, dial(t, start(t, args...).CosmosURI)}
	x.send(t, "test", `{create: "c"}`)
	return x
}

// send runs a command and returns the code and the text of its error, or of its first write error; the code is 0 if
// there is none.
func (x *tried) send(t *testing.T, db, text string) (code int64, message string) {
	t.Helper()
	cmd := bsontest.Doc(t, text)
	reply, err := x.conn.Command(db, bson.Raw(cmd))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	where := reply
	if first, err := reply.LookupErr("writeErrors", "0"); err == nil {
		where = first.Document()
	} else if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok == 1 {
		return 0, ""
	}
	code, _ = where.Lookup("code").AsInt64OK()
	message, _ = where.Lookup("errmsg").StringValueOK()
	return code, message
}

// operator returns a command that uses an operator of a kind.
func operator(k cosmos.Kind, name string) (db, text string) {
	db = "test"
	switch k {
	case cosmos.Command:
		text = fmt.Sprintf(`{%s: 1}`, name)
		if adminOnly[name] {
			db = "admin"
		}
	case cosmos.Stage:
		argument := "{}"
		if name == "$merge" {
			argument = `"merged"`
		}
		text = fmt.Sprintf(`{aggregate: "c", pipeline: [{%s: %s}], cursor: {}}`, name, argument)
	case cosmos.Expression:
		text = fmt.Sprintf(`{aggregate: "c", pipeline: [{$addFields: {x: {%s: "$a"}}}], cursor: {}}`, name)
	case cosmos.Variable:
		text = fmt.Sprintf(`{aggregate: "c", pipeline: [{$redact: {$cond: [{$eq: [1, "$$%s"]}, "$$KEEP", "$$PRUNE"]}}], cursor: {}}`, name)
	case cosmos.Accumulator:
		text = fmt.Sprintf(`{aggregate: "c", pipeline: [{$group: {_id: null, x: {%s: "$a"}}}], cursor: {}}`, name)
	case cosmos.IndexKind:
		key := fmt.Sprintf(`{a: %q}`, name)
		switch name {
		case "1, -1":
			key = `{a: 1}`
		case "wildcard":
			key = `{"$**": 1}`
		}
		text = fmt.Sprintf(`{createIndexes: "c", indexes: [{key: %s, name: "x"}]}`, key)
	case cosmos.Query:
		switch {
		case shapes[name]:
			text = fmt.Sprintf(`{find: "c", filter: {a: {$geoWithin: {%s: [[0, 0], [1, 1]]}}}}`, name)
		case beside[name] != "":
			text = fmt.Sprintf(`{find: "c", filter: {a: %s}}`, beside[name])
		case top[name]:
			text = fmt.Sprintf(`{find: "c", filter: {%s: "a"}}`, name)
		default:
			text = fmt.Sprintf(`{find: "c", filter: {a: {%s: 1}}}`, name)
		}
	case cosmos.Projection:
		text = fmt.Sprintf(`{find: "c", projection: {a: {%s: 1}}}`, name)
	case cosmos.Update:
		text = fmt.Sprintf(`{update: "c", updates: [{q: {}, u: {%s: {a: 1}}}]}`, name)
	}
	return db, text
}

var (
	adminOnly = map[string]bool{"configureFailPoint": true, "listDatabases": true, "renameCollection": true, "shardCollection": true, "enableSharding": true,
		"getParameter": true, "replSetGetStatus": true, "copydb": true, "killOp": true, "currentOp": true, "abortTransaction": true, "commitTransaction": true, "top": true, "features": true}
	shapes = map[string]bool{"$box": true, "$center": true, "$centerSphere": true, "$polygon": true}
	top    = map[string]bool{"$and": true, "$or": true, "$nor": true, "$expr": true, "$comment": true, "$jsonSchema": true, "$sampleRate": true, "$text": true, "$where": true}
	beside = map[string]string{
		"$geometry":    `{$geoWithin: {$geometry: 1}}`,
		"$minDistance": `{$near: {$geometry: {type: "Point", coordinates: [0, 0]}, $minDistance: 1}}`,
		"$maxDistance": `{$near: {$geometry: {type: "Point", coordinates: [0, 0]}, $maxDistance: 1}}`,
		"$options":     `{$regex: "a", $options: "i"}`,
	}
)

// accounts returns the accounts to test: one of each version, one with all capabilities, and a lenient one.
func accounts(t *testing.T) (list []*cosmos.Account) {
	t.Helper()
	for _, name := range cosmos.VersionNames() {
		a := cosmos.NewAccount()
		var err error
		if a.Version, err = cosmos.ParseVersion(name); err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	all, lenient := cosmos.NewAccount(), cosmos.NewAccount()
	all.Capabilities = ^cosmos.Capabilities(0)
	lenient.Lenient = true
	return append(list, all, lenient)
}

func called(a *cosmos.Account) string {
	switch {
	case a.Lenient:
		return "lenient"
	case a.Capabilities != 0:
		return "capabilities"
	}
	return a.Version.String()
}

// TestFeatureTables checks that each row of the tables of features has its effect at the Cosmos address: an account
// without the feature gets the service's error; an account with the feature gets a result, or an error about the
// arguments.
func TestFeatureTables(t *testing.T) {
	for _, a := range accounts(t) {
		t.Run(called(a), func(t *testing.T) {
			t.Parallel()
			x := startTried(t, a)
			for _, k := range cosmos.Kinds() {
				if k == cosmos.Rule {
					continue
				}
				for i := range k.Rows() {
					row := &k.Rows()[i]
					db, text := operator(k, row.Name)
					if k == cosmos.IndexKind {
						x.send(t, db, `{dropIndexes: "c", index: "*"}`)
					}
					code, message := x.send(t, db, text)
					x.decide(t, k, row, text, code, message)
				}
				x.refuses(t, k)
			}
		})
	}
}

// decide compares an answer with a row.
func (x *tried) decide(t *testing.T, k cosmos.Kind, row *cosmos.Row, text string, code int64, message string) {
	t.Helper()
	want := k.Refusal(row.Name, row)
	refused := code == int64(want.Code) && strings.Contains(message, want.Msg)
	switch has := x.account.Lenient || x.account.Has(row); {
	case has && refused:
		t.Errorf("%s: %s is refused: %s", k, text, message)
	case !has && !refused:
		t.Errorf("%s: %s is not refused as %d %s: %d %s", k, text, want.Code, want.Msg, code, message)
	case has && k == cosmos.Command && code == 59 && !x.account.Lenient:
		t.Errorf("%s is not there: %s", row.Name, message)
	}
}

// unlisted are operators that MongoDB has and the service does not list, at most one for each kind of feature, so
// that their refusal is tested, too.
var unlisted = map[cosmos.Kind]string{
	cosmos.Command: "bulkWrite", cosmos.Stage: "$unionWith", cosmos.Expression: "$dateAdd", cosmos.Accumulator: "$topN", cosmos.Query: "$sampleRate", cosmos.Variable: "USER_ROLES",
}

// refuses runs a command with an operator without a row.
func (x *tried) refuses(t *testing.T, k cosmos.Kind) {
	t.Helper()
	name := unlisted[k]
	if name == "" {
		return
	}
	if k.Find(name) != nil {
		t.Fatalf("%s is listed", name)
	}
	db, text := operator(k, name)
	if name == "bulkWrite" {
		db = "admin"
	}
	code, message := x.send(t, db, text)
	x.decide(t, k, &cosmos.Row{Name: name}, text, code, message)
}

// ruleCase tests one rule of the service: of its commands, the last breaks the rule and the others succeed. C stands
// for the name of a collection of the case.
type ruleCase struct {
	rule     cosmos.RuleID
	commands []string
}

func ruleCases() []ruleCase {
	deep := strings.Repeat(`{a: `, 130) + "1" + strings.Repeat("}", 130)
	unique := make([]string, 10)
	for i := range unique {
		unique[i] = fmt.Sprintf(`{key: {u%d: 1}, name: "u%d", unique: true}`, i, i)
	}
	const sharded = `{shardCollection: "test.C", key: {k: "hashed"}}`
	session := `lsid: {id: UUID("00000000-0000-4000-8000-0000000000%02d")}, txnNumber: NumberLong(1), autocommit: false`
	return []ruleCase{
		{cosmos.ArrayLiterals, []string{`{find: "C", filter: {$expr: {$eq: ["$a", [1]]}}}`}},
		{cosmos.CappedCollections, []string{`{create: "C", capped: true, size: 4096}`}},
		{cosmos.ClusteredCollections, []string{`{create: "C", clusteredIndex: {key: {_id: 1}, unique: true}}`}},
		{cosmos.CollectionCollations, []string{`{create: "C", collation: {locale: "fr"}}`}},
		{cosmos.Collations, []string{`{find: "C", filter: {a: "x"}, collation: {locale: "fr"}}`}},
		{cosmos.CompositeSorts, []string{`{create: "C"}`, `{find: "C", sort: {a: 1, b: 1}}`}},
		{cosmos.CrossCollectionTransactions, []string{`{create: "C"}`, `{create: "C2"}`,
			`{insert: "C", documents: [{_id: 1}], startTransaction: true, ` + fmt.Sprintf(session, 1) + `}`, `{insert: "C2", documents: [{_id: 1}], ` + fmt.Sprintf(session, 1) + `}`}},
		{cosmos.DeepDocuments, []string{`{insert: "C", documents: [` + deep + `]}`}},
		{cosmos.EncryptedFields, []string{`{create: "C", encryptedFields: {fields: [{path: "a", bsonType: "string", keyId: UUID("00000000-0000-4000-8000-000000000000")}]}}`}},
		{cosmos.FindAndModifySorts, []string{`{create: "C"}`, `{createIndexes: "C", indexes: [{key: {a: 1, b: 1}, name: "ab"}]}`,
			`{findAndModify: "C", query: {}, sort: {a: 1, b: 1}, update: {$set: {x: 1}}}`}},
		{cosmos.IndexCollations, []string{`{createIndexes: "C", indexes: [{key: {a: 1}, name: "a", collation: {locale: "fr"}}]}`}},
		{cosmos.IndexFieldsMany, []string{`{createIndexes: "C", indexes: [{key: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1}, name: "a"}]}`}},
		{cosmos.KeyChanges, []string{sharded, `{insert: "C", documents: [{_id: 1, k: 1}]}`, `{update: "C", updates: [{q: {_id: 1, k: 1}, u: {$set: {k: 2}}}]}`}},
		{cosmos.KeysLong, []string{sharded, `{insert: "C", documents: [{_id: 1, k: "` + strings.Repeat("k", 2100) + `"}]}`}},
		{cosmos.KeysMissing, []string{sharded, `{insert: "C", documents: [{_id: 1}]}`}},
		{cosmos.LargeDocuments, []string{`{insert: "C", documents: [{_id: 1, a: "` + strings.Repeat("a", 2<<20) + `"}]}`}},
		{cosmos.LookupPipelines, []string{`{aggregate: "c", pipeline: [{$lookup: {from: "c", let: {x: "$a"}, pipeline: [], as: "b"}}], cursor: {}}`}},
		{cosmos.NestedFields, []string{`{createIndexes: "C", indexes: [{key: {"a.b": 1, c: 1}, name: "a"}]}`}},
		{cosmos.PartialIndexes, []string{`{createIndexes: "C", indexes: [{key: {a: 1}, name: "a", partialFilterExpression: {b: 1}}]}`}},
		{cosmos.PartialUniqueIndexes, []string{`{createIndexes: "C", indexes: [{key: {a: 1}, name: "a", unique: true, partialFilterExpression: {b: 1}}]}`}},
		{cosmos.RetryableUnordered, []string{`{create: "C"}`, `{insert: "C", ordered: false, documents: [{_id: 1}], lsid: {id: UUID("00000000-0000-4000-8000-000000000008")}, txnNumber: NumberLong(1)}`}},
		{cosmos.RetryableWrites, []string{`{create: "C"}`, `{insert: "C", documents: [{_id: 1}], lsid: {id: UUID("00000000-0000-4000-8000-000000000009")}, txnNumber: NumberLong(1)}`}},
		{cosmos.ShardedTransactions, []string{sharded, `{insert: "C", documents: [{_id: 1, k: 1}], startTransaction: true, ` + fmt.Sprintf(session, 2) + `}`}},
		{cosmos.Sorts, []string{`{create: "C"}`, `{find: "C", sort: {a: 1}}`}},
		{cosmos.SpacesInNames, []string{`{create: "C C"}`}},
		{cosmos.SparseIndexes, []string{`{createIndexes: "C", indexes: [{key: {a: 1}, name: "a", sparse: true}]}`}},
		{cosmos.TTLFields, []string{`{createIndexes: "C", indexes: [{key: {a: 1}, name: "a", expireAfterSeconds: 10}]}`}},
		{cosmos.TTLPartial, []string{`{createIndexes: "C", indexes: [{key: {a: 1}, name: "a", unique: true, partialFilterExpression: {b: 1}, expireAfterSeconds: 10}]}`}},
		{cosmos.TTLSeveral, []string{`{createIndexes: "C", indexes: [{key: {_ts: 1}, name: "ts", expireAfterSeconds: 10}]}`,
			`{createIndexes: "C", indexes: [{key: {a: 1}, name: "a", expireAfterSeconds: 10}]}`}},
		{cosmos.TimeSeries, []string{`{create: "C", timeseries: {timeField: "t"}}`}},
		{cosmos.UniqueMany, []string{`{createIndexes: "C", indexes: [` + strings.Join(unique, ", ") + `]}`, `{createIndexes: "C", indexes: [{key: {a: 1}, name: "a", unique: true}]}`}},
		{cosmos.UniqueOnDocuments, []string{`{insert: "C", documents: [{_id: 1}]}`, `{createIndexes: "C", indexes: [{key: {a: 1}, name: "a", unique: true}]}`}},
		{cosmos.UntargetedManyWrites, []string{sharded, `{delete: "C", deletes: [{q: {a: 1}, limit: 0}]}`}},
		{cosmos.UntargetedWrites, []string{sharded, `{update: "C", updates: [{q: {a: 1}, u: {$set: {x: 2}}}]}`}},
		{cosmos.Validators, []string{`{create: "C", validator: {a: 1}}`}},
		{cosmos.Views, []string{`{create: "C", viewOn: "c", pipeline: []}`}},
		{cosmos.WatchedDatabases, []string{`{aggregate: 1, pipeline: [{$changeStream: {fullDocument: "updateLookup"}}, {$match: {operationType: "insert"}}, {$project: {_id: 1}}], cursor: {}}`}},
		{cosmos.WatchedDocuments, []string{`{create: "C"}`, `{aggregate: "C", pipeline: [{$changeStream: {}}, {$match: {operationType: "insert"}}, {$project: {_id: 1}}], cursor: {}}`}},
		{cosmos.WatchedMissing, []string{`{aggregate: "C", pipeline: [{$changeStream: {fullDocument: "updateLookup"}}, {$match: {operationType: "insert"}}, {$project: {_id: 1}}], cursor: {}}`}},
		{cosmos.WatchedPipelines, []string{`{create: "C"}`, `{aggregate: "C", pipeline: [{$changeStream: {fullDocument: "updateLookup"}}], cursor: {}}`}},
		{cosmos.WildcardOptions, []string{`{createIndexes: "C", indexes: [{key: {"$**": 1}, name: "a", wildcardProjection: {a: 1}}]}`}},
	}
}

// untried are rules of limits that take long to reach.
var untried = map[cosmos.RuleID]bool{cosmos.IndexesMany: true, cosmos.NamespacesMany: true}

// TestFeatureRules checks that each rule except those untried is effective at the Cosmos address.
func TestFeatureRules(t *testing.T) {
	cases := ruleCases()
	if want := len(cosmos.Rule.Rows()) - len(untried); len(cases) != want {
		t.Errorf("%d cases for %d rules", len(cases), want)
	}
	for _, a := range accounts(t) {
		t.Run(called(a), func(t *testing.T) {
			t.Parallel()
			x := startTried(t, a)
			for _, c := range cases {
				row := &cosmos.Rule.Rows()[c.rule]
				var code int64
				var message, text string
				for i, command := range c.commands {
					text = strings.NewReplacer(`"C`, fmt.Sprintf(`"r%d`, c.rule), `test.C`, fmt.Sprintf(`test.r%d`, c.rule)).Replace(command)
					db := "test"
					if strings.HasPrefix(text, "{shardCollection") {
						db = "admin"
					}
					code, message = x.send(t, db, text)
					if i < len(c.commands)-1 && code != 0 && !a.Lenient && a.Capabilities == 0 {
						t.Fatalf("%s: %.200s: %d %s", row.Name, text, code, message)
					}
				}
				refused := code == int64(row.Code) && strings.HasPrefix(message, row.Text)
				if has := a.Lenient || a.Has(row); has && code != 0 {
					t.Errorf("%s: %.200s: %d %s", row.Name, text, code, message)
				} else if !has && !refused {
					t.Errorf("%s: %.200s is not refused as %d %s: %d %s", row.Name, text, row.Code, row.Text, code, message)
				}
			}
		})
	}
}
