package abuse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
)

// attack is a list of commands that a hostile user repeats for a while, as raw BSON, so that a document may have a
// field name twice, which no driver sends.
type attack struct {
	name string
	by   string // the user: "powerless" has no roles, "tenant" owns a database
	db   string
	// cmds are the commands as extended JSON; %d is replaced by the number of the turn, 0 to 9, so that turns
	// differ.
	cmds []string
	// refused means that the server must refuse every command of the attack.
	refused bool
}

// attacks returns all attacks of hostile users, in the order in which they run.
func attacks() []attack { return append(slices.Clone(beyondRoles), beyondBudgets()...) }

// beyondBudgets returns attacks by which a user takes as much memory and processor time as it can.
func beyondBudgets() []attack {
	const own = "tenant"
	return []attack{
		{name: "many lists in variables", by: "powerless", db: "admin", cmds: []string{lists(`{$split: ["$s", "y"]}`), lists(`{$range: [0, 400000]}`), lists(`{$regexFindAll: {input: {$substrBytes: ["$s", 0, 100000]}, regex: "y"}}`)}},
		{name: "long scripts", by: "powerless", db: "admin", cmds: []string{scripts(8, strings.Repeat("1+", 16_000)+"1"), scripts(1, strings.Repeat("-+", 16_000)+"1")}},
		{name: "sessions by the thousand", by: "powerless", db: "admin", cmds: []string{sessions("refreshSessions"), sessions("endSessions"), sessions("killSessions")}},
		{name: "large users", by: "tenant", db: own, cmds: []string{
			`{createUser: "large%d", pwd: "p", roles: [], customData: {s: "` + strings.Repeat("x", 15<<20) + `"}}`, `{usersInfo: 1}`,
			`{dropAllUsersFromDatabase: 1}`,
		}},
		{name: "large definitions", by: "tenant", db: own, cmds: []string{
			`{create: "large%d", validator: {a: {$ne: "` + strings.Repeat("x", 12<<20) + `"}}}`, `{listCollections: 1}`,
		}},
		{name: "a budget of its own", by: "tenant", db: own, cmds: []string{
			`{customAction: "CreateCollection", collection: "wide%d", offerThroughput: 1000000000}`,
			`{customAction: "CreateCollection", collection: "free%d", serverless: true}`,
		}, refused: true},
		{name: "partitions and drops", by: "tenant", db: own, cmds: []string{
			`{customAction: "CreateCollection", collection: "p%d", shardKey: "k"}`, `{drop: "p%d"}`, `{dropDatabase: 1}`, `{insert: "c", documents: [{a: 1}]}`,
		}},
	}
}

// lists returns a pipeline that holds forty lists.
func lists(of string) string {
	var vars []string
	for i := range 40 {
		vars = append(vars, fmt.Sprintf("v%d: %s", i, of))
	}
	return `{aggregate: 1, pipeline: [{$documents: [{s: "` + strings.Repeat("y", 6<<20) + `"}]}, {$project: {a: {$let: {vars: {` +
		strings.Join(vars, ", ") + `}, in: {$add: [{$size: "$$v0"}, {$size: "$$v39"}]}}}}}], cursor: {}}`
}

// scripts returns a pipeline with n JavaScript functions that are expensive to compile.
func scripts(n int, sum string) string {
	var fields []string
	for i := range n {
		fields = append(fields, fmt.Sprintf(`f%d: {$function: {body: "function(){return %d+%s}", args: [], lang: "js"}}`, i, i, sum))
	}
	return `{aggregate: 1, pipeline: [{$documents: [{}]}, {$project: {` + strings.Join(fields, ", ") + `}}], cursor: {}}`
}

// sessions returns a command with the ids of 10,000 sessions that no client uses, other ids in each turn, to fill
// the server's table of sessions.
func sessions(command string) string {
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf(`{id: {$uuid: "%08x-0000-4000-8000-00000000000%%d"}}`, i)
	}
	return `{` + command + `: [` + strings.Join(ids, ", ") + `]}`
}

// turns is the number of different versions of each command of an attack.
const turns = 10

// commandsOf returns the commands of an attack as BSON, for all turns one after the other.
func commandsOf(t *testing.T, a *attack) (made []bson.Raw) {
	t.Helper()
	for turn := range turns {
		for i, text := range a.cmds {
			if turn > 0 && !strings.Contains(text, "%d") {
				made = append(made, made[i])
				continue
			}
			doc := bsontest.Doc(t, strings.ReplaceAll(text, "%d", fmt.Sprint(turn)))
			made = append(made, bson.Raw(doc))
		}
	}
	return made
}
