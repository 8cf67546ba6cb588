package rooms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/explained"
)

// newRoom is a room of the test, for which the rest of the server has no code. One of its commands reads, one
// writes, and one does neither. The test checks that their rows are all that the rest of the server needs.
type newRoom struct {
	during func() // called while a tally runs
}

// Commands returns the commands of the room, in alphabetical order.
func (r *newRoom) Commands() []command.Def {
	return []command.Def{
		{Name: "mark", Run: runMark, Namespace: command.FirstField, Action: "update",
			Facts: command.InTxn | command.Writes | command.Retryable | command.Stable | command.Sampled, Kind: command.KindWrite,
			Statements: "marks", Query: markQuery, Explain: explainMark, Doc: "none"},
		{Name: "rest", Run: runRest, Namespace: command.FirstField, Action: "collStats", Facts: command.AdminOnly, Doc: "none"},
		{Name: "tally", Aliases: []string{"Tally"}, Run: r.runTally, Namespace: command.FirstField, Action: "find",
			Facts: command.InTxn | command.Stable | command.Limited | command.Sampled | command.Settable, Kind: command.KindRead, ReadConcern: command.AnyLevel,
			Query: tallyQuery, Explain: explainTally, Doc: "none"},
	}
}

// runMark runs {mark: "c", marks: [{which: filter}]}, which adds 1 to the field marks of one document.
func runMark(c *command.Call) error {
	ns, err := c.Namespace()
	if err != nil {
		return err
	}
	marks, err := c.Docs("marks", 1)
	if err != nil {
		return err
	}
	if err := c.MayWriteTo(ns, "mark"); err != nil {
		return err
	}
	if r, ok, err := c.StoredResult(0); ok || err != nil {
		c.Reply.Splice(r.Elements())
		c.AppendRetried()
		return err
	}
	f, _ := markQuery(marks[0])
	m := cluster.Modify{Find: plan.Find{Filter: f}}
	change, err := ejson.ParseValue(`{$inc: {marks: 1}}`)
	if err != nil {
		return err
	}
	if m.Update, err = update.Parse(c.Env(), change, nil, update.Options{}); err != nil {
		return err
	}
	reply := func(r *cluster.Modified) bson.Raw {
		b := bson.NewBuilder(nil)
		b.Int64("marked", r.Matched)
		return b.Doc()
	}
	c.Op.Record = c.Recorder(nil, reply)
	r, err := c.Cluster.Modify(&c.Op, ns, &m)
	if err == nil {
		c.Reply.Splice(reply(&r).Elements())
	}
	return err
}

func markQuery(d bson.Raw) (filter, sort bson.Raw) {
	filter, _ = d.Get("which").Doc()
	return filter, nil
}

func explainMark(c *command.Call, _ command.Request) (x *explained.Explained, err error) {
	x = &explained.Explained{Stage: "UPDATE"}
	if x.Ns, err = c.Namespace(); err != nil {
		return nil, err
	}
	marks, err := c.DocArray("marks", c.Body.Get("marks"), 1)
	if err != nil {
		return nil, err
	}
	x.Find.Filter, _ = markQuery(marks[0])
	x.Modify = &cluster.Modify{Find: x.Find}
	return x, nil
}

// runTally runs {tally: "c", which: filter, by: sort}, which counts documents; with wait: true it waits until it is
// interrupted.
func (r *newRoom) runTally(c *command.Call) error {
	x, err := explainTally(c, nil)
	if err != nil {
		return err
	}
	if c.Server.Planner.HasSettings(x.Ns) {
		if err := c.Server.Planner.ApplySettings(c, x); err != nil {
			return err
		}
	}
	if r.during != nil {
		r.during()
	}
	if c.Body.Get("wait").Truthy() {
		<-c.Ctx.Done()
		return c.Ctx.Err()
	}
	n, err := c.Cluster.Count(&c.Op, x.Ns, plan.Find{Filter: x.Find.Filter})
	c.Reply.Int64("n", n)
	return err
}

func tallyQuery(d bson.Raw) (filter, sort bson.Raw) {
	filter, _ = d.Get("which").Doc()
	sort, _ = d.Get("by").Doc()
	return filter, sort
}

func explainTally(c *command.Call, _ command.Request) (x *explained.Explained, err error) {
	x = &explained.Explained{}
	x.Ns, err = c.ReadNamespace()
	x.Find.Filter, x.Find.Sort = tallyQuery(c.Body)
	return x, err
}

// runRest runs {rest: "c"}, which does nothing.
func runRest(*command.Call) error { return nil }

// newRoomWorld returns a server with the room newRoom added, and ten documents to read and to write.
func newRoomWorld(t *testing.T) (*world, *newRoom) {
	w, r := newWorld(t, nil), &newRoom{}
	w.Add(r)
	c := w.dial()
	for i := range 10 {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d, a: %d}]}`, i, i%2))
	}
	return w, r
}

// A command is added by one function and one row: the checks of the chain follow from the row.
func TestCommandIsOneRow(t *testing.T) {
	const number1 = `, txnNumber: {$numberLong: "1"}`
	w, _ := newRoomWorld(t)
	c := w.dial()
	for cmd, want := range map[string]mongoerr.Code{
		`{tally: "c"}`: 0, `{Tally: "c"}`: 0, `{TALLY: "c"}`: 59, `{mark: "c", marks: [{which: {a: 1}}]}`: 0, `{rest: "c", $db: "admin"}`: 0,
		`{rest: "c"}`: mongoerr.Unauthorized, // AdminOnly
		// Read and write concerns.
		`{tally: "c", readConcern: {level: "snapshot"}}`:                                                        0,
		`{tally: "c", writeConcern: {w: 1}}`:                                                                    mongoerr.InvalidOptions,
		`{mark: "c", marks: [{}], writeConcern: {w: "majority"}}`:                                               0,
		`{mark: "c", marks: [{}], readConcern: {level: "majority"}}`:                                            mongoerr.InvalidOptions,
		`{rest: "c", readConcern: {level: "majority"}, $db: "admin"}`:                                           mongoerr.InvalidOptions,
		`{rest: "c", writeConcern: {w: 1}, $db: "admin"}`:                                                       mongoerr.InvalidOptions,
		`{tally: "c", apiVersion: "1", apiStrict: true}`:                                                        0,
		`{mark: "c", marks: [{}], apiVersion: "1", apiStrict: true}`:                                            0,
		`{rest: "c", apiVersion: "1", apiStrict: true, $db: "admin"}`:                                           mongoerr.APIStrictError,
		`{rest: "c", ` + lsid + number1 + `, $db: "admin"}`:                                                     50768,
		`{tally: "c", ` + lsid + number1 + `}`:                                                                  50768,
		`{explain: {rest: "c"}, $db: "admin"}`:                                                                  mongoerr.IllegalOperation,
		`{rest: "c", ` + txnOne + `, startTransaction: true, $db: "admin"}`:                                     mongoerr.OperationNotSupportedInTransaction,
		`{tally: "c", ` + strings.Replace(txnOne, `"1"`, `"2"`, 1) + `, $db: "config"}`:                         mongoerr.OperationNotSupportedInTransaction,
		`{mark: "c", marks: [{}], ` + strings.Replace(txnOne, `"1"`, `"3"`, 1) + `, ` + `writeConcern: {w: 1}}`: mongoerr.InvalidOptions,
	} {
		if got := c.code(cmd); got != int64(want) {
			t.Errorf("%s: %d, want %d", cmd, got, want)
		}
	}
	if r := c.ok(`{mark: "c", marks: [{}], writeConcern: {w: 0}}`); !r.Get("marked").IsMissing() {
		t.Errorf("a write that is not acknowledged says %v", r)
	}
	r := c.ok(`{listCommands: 1}`)
	for path, want := range map[string]string{
		"tally.apiVersions": `["1"]`, "rest.apiVersions": `[]`, "tally.aliases": `["Tally"]`, "rest.adminOnly": "true", "mark.requiresAuth": "true",
	} {
		if got := strings.ReplaceAll(at(r, "commands."+path).String(), " ", ""); got != want {
			t.Errorf("listCommands: %s is %s, want %s", path, got, want)
		}
	}
}

// The user of a command of the new room needs the action of its row on the collection, also to explain the command.
func TestNewCommandIsAuthorized(t *testing.T) {
	w, _ := newRoomWorld(t)
	w.RequireAuth = true
	for cmd, need := range map[string]string{
		`{tally: "c"}`: "test.c: find", `{explain: {tally: "c"}}`: "test.c: find",
		`{mark: "c", marks: [{}]}`: "test.c: update", `{explain: {mark: "c", marks: [{}]}}`: "test.c: update",
		`{rest: "c", $db: "admin"}`: "admin.c: collStats",
	} {
		if a, b, d := w.dial().code(cmd), w.dialWith(t, nil).code(cmd), w.dialWith(t, []string{need}).code(cmd); a != 13 || b != 13 || d != 0 {
			t.Errorf("%s by nobody, without privileges, with %q: %d, %d, %d", cmd, need, a, b, d)
		}
	}
}

// The server's counters and records include the commands of the new room, because their rows have the fields Kind,
// Query and Statements.
func TestNewCommandIsCounted(t *testing.T) {
	w, room := newRoomWorld(t)
	c, other := w.dial(), w.dial()
	status := func(path string) int64 { return number(at(other.ok(`{serverStatus: 1}`), path)) }
	reads, writes := status("opLatencies.reads.ops"), status("opLatencies.writes.ops")
	c.ok(`{profile: 2}`)
	other.ok(`{configureQueryAnalyzer: "test.c", mode: "full", samplesPerSecond: 50, $db: "admin"}`)
	room.during = func() {
		r := other.ok(`{currentOp: 1, "command.by": {a: -1}, $db: "admin"}`)
		if op, _ := at(r, "inprog.0").Doc(); text(op.Get("ns")) != "test.c" || text(op.Get("op")) != "command" {
			t.Errorf("currentOp says %v", r)
		}
		if n := status("globalLock.activeClients.readers"); n != 1 {
			t.Errorf("%d readers at work", n)
		}
	}
	c.ok(`{tally: "c", which: {a: 1}, by: {a: -1}}`)
	c.ok(`{Tally: "c", which: {a: 7}, by: {a: -1}}`)
	c.ok(`{mark: "c", marks: [{which: {a: {$gt: 0}}}]}`)
	if r := c.ok(`{getLastRequestStatistics: 1}`); text(r.Get("CommandName")) != "mark" {
		t.Errorf("the last request was %v", r)
	}
	c.code(`{tally: 1}`)
	c.ok(`{profile: 0}`)
	for path, want := range map[string]int64{
		"metrics.commands.tally.total": 3, "metrics.commands.tally.failed": 1, "metrics.commands.mark.total": 1,
		"opLatencies.reads.ops": reads + 3, "opLatencies.writes.ops": writes + 1,
	} {
		if got := status(path); got != want {
			t.Errorf("serverStatus: %s is %d, want %d", path, got, want)
		}
	}
	totals, _ := other.ok(`{top: 1, $db: "admin"}`).Get("totals").Doc()
	if used, _ := totals.Get("test.c").Doc(); number(at(used, "commands.count")) < 3 {
		t.Errorf("top: %v", used)
	}
	if d := other.reported("tally", "{a: ?}"); number(d.Get("count")) != 2 || text(d.Get("sort")) != "{a: -1}" {
		t.Errorf("reported as %v", d)
	}
	other.reported("mark", "{a: {$gt: ?}}")
	found := func(coll, filter string, want int64) {
		t.Helper()
		db, name, _ := strings.Cut(coll, ".")
		if r := other.ok(fmt.Sprintf(`{count: %q, query: %s, $db: %q}`, name, filter, db)); number(r.Get("n")) != want {
			t.Errorf("%v documents of %s are %s, want %d: %v", r.Get("n"), coll, filter, want, other.ok(fmt.Sprintf(`{find: %q, $db: %q}`, name, db)))
		}
	}
	found("test.system.profile", `{op: "command", ns: "test.c", "command.tally": "c"}`, 1)
	found("test.system.profile", `{op: "command", ns: "test.c", "command.which": {$eq: {a: {$gt: 0}}}}`, 1)
	found("config.sampledQueries", `{ns: "test.c", cmdName: "tally"}`, 2)
	found("config.sampledQueries", `{ns: "test.c", cmdName: "mark", "cmd.marks.which": {a: {$gt: 0}}}`, 1)
}

// Explain, query settings, time limits, fsync with lock and fail points apply to the commands of the new room too.
func TestNewCommandIsSteered(t *testing.T) {
	w, _ := newRoomWorld(t)
	c := w.dial()
	for _, cmd := range []string{`{tally: "c", which: {a: 1}}`, `{mark: "c", marks: [{which: {a: 1}}]}`} {
		r := c.ok(`{explain: ` + cmd + `, verbosity: "executionStats"}`)
		if text(at(r, "queryPlanner.namespace")) != "test.c" || number(at(r, "executionStats.nReturned")) < 0 || at(r, "queryPlanner.winningPlan").IsMissing() {
			t.Errorf("%s is explained as %v", cmd, r)
		}
	}
	c.ok(`{setQuerySettings: {tally: "c", which: {a: 1}, $db: "test"}, settings: {reject: true}, $db: "admin"}`)
	if a, b := c.code(`{tally: "c", which: {a: 2}}`), c.code(`{tally: "c", which: {b: 2}}`); a != 411 || b != 0 {
		t.Errorf("a query with settings and one without: %d, %d", a, b)
	}
	if got := c.code(`{setQuerySettings: {mark: "c", marks: [{}], $db: "test"}, settings: {reject: true}, $db: "admin"}`); got == 0 {
		t.Error("a write has query settings")
	}
	c.ok(`{setClusterParameter: {defaultMaxTimeMS: {readOperations: 1}}, $db: "admin"}`)
	if got := c.code(`{tally: "c", wait: true}`); got != 50 {
		t.Errorf("the time limit of reads: %d", got)
	}
	c.ok(`{setClusterParameter: {defaultMaxTimeMS: {readOperations: 0}}, $db: "admin"}`)
	c.ok(`{fsync: 1, lock: true, $db: "admin"}`)
	if a, b := c.code(`{tally: "c"}`), c.code(`{mark: "c", marks: [{}], maxTimeMS: 1}`); a != 0 || b != 50 {
		t.Errorf("a read and a write under a locked fsync: %d, %d", a, b)
	}
	c.ok(`{fsyncUnlock: 1, $db: "admin"}`)
	c.ok(`{configureFailPoint: "failCommand", mode: {times: 1}, data: {failCommands: ["tally"], errorCode: 91}, $db: "admin"}`)
	if a, b := c.code(`{tally: "c"}`), c.code(`{tally: "c"}`); a != 91 || b != 0 {
		t.Errorf("with a fail point and without: %d, %d", a, b)
	}
}

// The command of the new room that writes runs once even if it is retried, and mark and tally can run in
// transactions.
func TestNewCommandHasSessions(t *testing.T) {
	w, _ := newRoomWorld(t)
	c := w.dial()
	marks := func() int64 {
		return number(at(c.ok(`{find: "c", filter: {_id: 1}}`), "cursor.firstBatch.0.marks"))
	}
	once := `{mark: "c", marks: [{which: {_id: 1}}], ` + lsid + `, txnNumber: {$numberLong: "1"}}`
	c.ok(once)
	if r := c.ok(once); number(r.Get("marked")) != 1 || r.Get("retriedStmtIds").IsMissing() || marks() != 1 {
		t.Errorf("retried: %v, %d marks", r, marks())
	}
	txn := strings.Replace(txnOne, `"1"`, `"2"`, 1)
	c.ok(`{tally: "c", startTransaction: true, ` + txn + `}`)
	c.ok(`{mark: "c", marks: [{which: {_id: 1}}], ` + txn + `}`)
	if r := c.ok(`{tally: "c", which: {marks: 2}, ` + txn + `}`); number(r.Get("n")) != 1 || marks() != 1 {
		t.Errorf("inside of the transaction: %v, outside %d marks", r, marks())
	}
	c.ok(`{commitTransaction: 1, $db: "admin", ` + txn + `}`)
	if marks() != 2 {
		t.Errorf("%d marks after the transaction", marks())
	}
}
