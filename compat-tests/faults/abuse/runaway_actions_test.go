package abuse

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// runawayServer starts a server with a collection whose scan costs well over 100 RU, and returns a connection to it.
func runawayServer(t *testing.T) *zoo {
	t.Helper()
	s := harness.Start(t, harness.Options{Args: []string{"--prices", "normative", "--enable-test-commands"}})
	z := &zoo{t, s.Dial(t)}
	z.ok(`{create: "c"}`)
	for i := range 3 {
		docs := ""
		for k := range 1000 {
			docs += fmt.Sprintf(`{_id: %d}, `, i*1000+k)
		}
		z.ok(`{insert: "c", documents: [` + docs[:len(docs)-2] + `]}`)
	}
	return z
}

const scan = `{find: "c", filter: {nothing: 1}}`

// caps sets the cluster parameter defaultMaxRequestUnits.
func (z *zoo) caps(fields string) {
	z.Helper()
	z.ok(`{setClusterParameter: {defaultMaxRequestUnits: {` + fields + `}}, $db: "admin"}`)
}

// getMore opens a cursor on c and returns the getMore for its rest.
func (z *zoo) getMore(open string) string {
	z.Helper()
	return fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", batchSize: 3000}`, z.ok(open).Lookup("cursor", "id").Int64())
}

// code runs a command and returns the code of its error, 0 without one.
func (z *zoo) code(cmd string) int {
	z.Helper()
	n := number(z.run(cmd), "code")
	if math.IsNaN(n) {
		return 0
	}
	return int(n)
}

// runawaysOf returns how many commands had an action.
func (z *zoo) runawaysOf(action string) float64 {
	z.Helper()
	return number(z.ok(`{serverStatus: 1}`), "requestUnits", "runaways", action)
}

// TestRunawayActions checks what happens to a command at a default cap, by the action of the cluster parameter; the argument
// maxRequestUnits always kills.
func TestRunawayActions(t *testing.T) {
	z := runawayServer(t)
	for _, refused := range []string{`action: "coolDown"`, `action: "switchBucket"`, `action: "no"`, `coolDownThroughput: 5`, `action: "switchBucket", bucket: 6`, `action: "kill", bucket: 1`} {
		if z.code(`{setClusterParameter: {defaultMaxRequestUnits: {`+refused+`}}, $db: "admin"}`) != 2 {
			t.Errorf("accepted: %s", refused)
		}
	}

	z.caps(`commands: 5, action: "dryRun"`)
	z.ok(scan)
	if n := z.runawaysOf("dryRun"); n != 1 {
		t.Errorf("%v commands had the action dryRun", n)
	}
	if z.code(`{find: "c", filter: {nothing: 1}, maxRequestUnits: 3}`) != 8253 || z.runawaysOf("kill") != 1 {
		t.Error("the argument does not kill")
	}
	z.ok(`{update: "c", updates: [{q: {_id: {$lt: 20}}, u: {$set: {x: 1}}, multi: true}]}`)
	if n := z.runawaysOf("dryRun"); n != 2 {
		t.Errorf("%v commands had the action dryRun", n)
	}

	z.caps(`commands: 5, action: "coolDown", coolDownThroughput: 100`)
	begun := time.Now()
	z.ok(scan) // 145 RU
	if took := time.Since(begun); took < time.Second {
		t.Errorf("a read of 140 RU beyond its limit took %v at 100 RU/s", took)
	}
	if code := z.code(`{find: "c", filter: {nothing: 1}, maxTimeMS: 200}`); code != 50 {
		t.Errorf("a read that is cooled down ends with code %d at its time limit", code)
	}

	z.caps(`commands: 5, action: "switchBucket", bucket: 3`)
	z.ok(`{customAction: "UpdateCollection", collection: "c", offerThroughput: 10000, throughputBuckets: [{id: 3, maxThroughputPercentage: 1}]}`)
	z.ok(`{customAction: "Clock", stop: true}`)
	z.ok(`{customAction: "Clock", advanceMs: 2000}`)
	z.ok(`{find: "c", filter: {_id: 1}, comment: {bucket: 3}}`)
	z.ok(scan)
	if code := z.code(`{find: "c", filter: {_id: 1}, comment: {bucket: 3}}`); code != 16500 {
		t.Errorf("a read of the bucket that paid for a runaway command: code %d", code)
	}
	z.ok(`{find: "c", filter: {_id: 1}}`)

	// The ledger has the whole command, and the page of a cursor, under the bucket to which it switched.
	billed := func() float64 {
		r := z.ok(`{aggregate: "requestUnits", pipeline: [{$match: {by: "bucket", name: "abuse.c 3"}}, {$group: {_id: null, n: {$sum: "$hundredths"}}}], cursor: {}, $db: "config"}`)
		return number(r, "cursor", "firstBatch", "0", "n") / 100
	}
	before := billed()
	if before < 100 {
		t.Errorf("the ledger has %v RU of the bucket that paid for a read of 145 RU", before)
	}
	z.ok(`{customAction: "Clock", advanceMs: 10000}`)
	z.ok(z.getMore(`{find: "c", batchSize: 0}`))
	if page := billed() - before; page < 100 {
		t.Errorf("the ledger has %v RU of the bucket that paid for a page", page)
	}
}

// TestRunawayWatch checks that query settings limit the reads of a shape for some time, and that a shape of which several
// reads were killed is rejected.
func TestRunawayWatch(t *testing.T) {
	z := runawayServer(t)
	other := `{find: "c", filter: {else: 1}}`
	set := func(settings string) {
		z.ok(`{setQuerySettings: {find: "c", filter: {nothing: 7}, $db: "abuse"}, settings: {` + settings + `}, $db: "admin"}`)
	}
	remove := func() { z.ok(`{removeQuerySettings: {find: "c", filter: {nothing: 7}, $db: "abuse"}, $db: "admin"}`) }

	set(`runaway: {maxRequestUnits: 5}, durationSecs: 1000`)
	r := z.run(scan)
	if number(r, "errInfo", "runaway", "limit") != 5 || r.Lookup("errInfo", "runaway", "limitOf").StringValue() != "querySettings" {
		t.Errorf("a read of a shape with a limit: %s", r)
	}
	z.ok(other)
	plan := z.ok(`{explain: ` + scan + `, verbosity: "queryPlanner"}`)
	if number(plan, "queryPlanner", "querySettings", "runaway", "maxRequestUnits") != 5 {
		t.Errorf("explain: %s", plan)
	}
	set(`runaway: {maxRequestUnits: 5, action: "dryRun"}`)
	z.ok(scan)
	remove()
	z.ok(scan)
	set(`reject: true, durationSecs: 1`)
	deadline := time.Now().Add(time.Minute)
	rejected := 0
	for z.code(scan) == 411 && time.Now().Before(deadline) {
		rejected++
	}
	if rejected == 0 || z.code(scan) != 0 {
		t.Errorf("rejected for a second: %d times, then code %d", rejected, z.code(scan))
	}

	z.caps(`commands: 5, watch: {after: 3, durationSecs: 1000}`)
	for i := range 3 {
		if code := z.code(fmt.Sprintf(`{find: "c", filter: {nothing: %d}, maxTimeMS: 60000}`, i)); code != 8253 {
			t.Errorf("read %d: code %d", i, code)
		}
	}
	if code := z.code(scan); code != 411 {
		t.Errorf("a read of a shape of which three were killed: code %d", code)
	}
	if code := z.code(other); code != 8253 {
		t.Errorf("a read of another shape: code %d", code)
	}
	all := z.ok(`{aggregate: 1, pipeline: [{$querySettings: {}}], cursor: {}, $db: "admin"}`)
	values, err := all.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil || len(values) != 1 {
		t.Fatalf("the settings: %s", all)
	}
	shown := values[0].Document()
	if !shown.Lookup("settings", "reject").Boolean() || number(shown, "settings", "comment", "runaways") != 3 || shown.Lookup("settings", "expireAt").DateTime() < time.Now().UnixMilli() {
		t.Errorf("the settings: %s", shown)
	}
	var query bson.D
	if err := bson.Unmarshal(shown.Lookup("representativeQuery").Document(), &query); err != nil || len(query) != 3 {
		t.Errorf("the query in the settings: %v", query)
	}
	z.caps(`commands: 5`)
	remove()
	if code := z.code(scan); code != 8253 {
		t.Errorf("a read of a shape that is not rejected any more: code %d", code)
	}

	// A cursor whose getMore is killed counts for the shape of its find.
	z.caps(`commands: 60, watch: {after: 2, durationSecs: 1000}`)
	paged := `{find: "c", filter: {_id: {$gte: 0}}, batchSize: 2, maxTimeMS: 60000}`
	for range 2 {
		if code := z.code(z.getMore(paged)); code != 8253 {
			t.Errorf("a getMore: code %d", code)
		}
	}
	if code := z.code(paged); code != 411 {
		t.Errorf("a find of a shape of which two getMores were killed: code %d", code)
	}
	z.ok(`{removeQuerySettings: {find: "c", filter: {_id: {$gte: 0}}, $db: "abuse"}, $db: "admin"}`)

	// Settings by hand stay, and those without a duration have no end.
	set(`runaway: {maxRequestUnits: 4}, durationSecs: 1`)
	set(`runaway: {maxRequestUnits: 4}`)
	z.caps(`commands: 5, watch: {after: 1, durationSecs: 1}`)
	for deadline := time.Now().Add(1500 * time.Millisecond); time.Now().Before(deadline); {
		if code := z.code(scan); code != 8253 {
			t.Fatalf("a read that its settings limit: code %d", code)
		}
	}
	remove()
}

// TestRunawayWatchKinds checks that query settings are for the same command, the same query shape or the same plan cache shape, by
// hand and automatically, that they end, and that $querySettings, explain and the request report count what they did.
func TestRunawayWatchKinds(t *testing.T) {
	z := runawayServer(t)
	example := `{find: "c", filter: {nothing: 7, a: 1}, $db: "abuse"}`
	set := func(watch, settings string) {
		t.Helper()
		z.ok(`{setQuerySettings: ` + example + `, watch: "` + watch + `", settings: {` + settings + `}, $db: "admin"}`)
	}
	remove := func(watch string) {
		t.Helper()
		z.ok(`{removeQuerySettings: ` + example + `, watch: "` + watch + `", $db: "admin"}`)
	}
	// The settings of each kind refuse these commands.
	commands := []struct{ cmd, refusedBy string }{
		{`{find: "c", filter: {nothing: 7, a: 1}, comment: "x", maxTimeMS: 60000}`, "exact similar plan"},
		{`{find: "c", filter: {nothing: 8, a: 1}}`, "similar plan"},
		{`{find: "c", filter: {a: 1, nothing: 7}, limit: 5}`, "plan"},
		{`{find: "c", filter: {nothing: 7, a: 1}, sort: {a: 1}}`, ""},
		{`{find: "c", filter: {nothing: 7}}`, ""},
	}
	check := func(watch string) {
		t.Helper()
		for _, x := range commands {
			want := 0
			if watch != "" && strings.Contains(x.refusedBy, watch) {
				want = 411
			}
			if code := z.code(x.cmd); code != want {
				t.Errorf("%s, settings %q: code %d", x.cmd, watch, code)
			}
		}
	}
	z.ok(`{customAction: "Clock", stop: true}`)
	for _, watch := range []string{"exact", "similar", "plan"} {
		set(watch, `reject: true, durationSecs: 100`)
		check(watch)
		z.ok(`{customAction: "Clock", advanceMs: 100000}`)
		check("")
		set(watch, `reject: true`)
		check(watch)
		remove(watch)
		check("")
	}

	// Several settings hold at the same time, and the reads that each has changed are counted.
	set("similar", `runaway: {maxRequestUnits: 6, action: "dryRun"}`)
	set("exact", `runaway: {maxRequestUnits: 5}, durationSecs: 1000`)
	if r := z.run(commands[0].cmd); number(r, "errInfo", "runaway", "limit") != 5 {
		t.Errorf("the command: %s", r)
	}
	z.ok(commands[1].cmd)
	set("exact", `reject: true, durationSecs: 1000`)
	z.code(commands[0].cmd)
	all := z.ok(`{aggregate: 1, pipeline: [{$querySettings: {}}], cursor: {}, $db: "admin"}`)
	for at, want := range []string{`similar`, `exact`} {
		d := all.Lookup("cursor", "firstBatch", fmt.Sprint(at)).Document()
		kind, _ := d.Lookup("watch").StringValueOK()
		if at == 0 && (kind != "" || number(d, "runaways", "dryRun") != 1) || at == 1 && (kind != want || number(d, "runaways", "kill") != 1 || number(d, "runaways", "rejected") != 1) {
			t.Errorf("$querySettings: %s", d)
		}
	}
	plan := z.ok(`{explain: {find: "c", filter: {nothing: 7, a: 1}}, verbosity: "queryPlanner"}`)
	if w := plan.Lookup("queryPlanner", "runawayWatch", "0"); w.Type == 0 || w.Document().Lookup("watch").StringValue() != "exact" || number(w.Document(), "runaways", "rejected") != 1 ||
		number(plan, "queryPlanner", "querySettings", "runaway", "maxRequestUnits") != 6 {
		t.Errorf("explain: %s", plan)
	}
	report := z.ok(`{customAction: "GetRequestReport", collection: "c"}`)
	values, err := report.Lookup("requests").Array().Values()
	bsontest.Must(t, err)
	found := false
	for _, v := range values {
		if d := v.Document(); number(d, "runaways", "kill") == 1 {
			found = true
			text := d.Lookup("warnings").String()
			if number(d, "runaways", "dryRun") != 1 || number(d, "runaways", "rejected") < 3 || !strings.Contains(text, "runaway: 1 were stopped") ||
				!strings.Contains(text, "watched: the watch list (exact) refuses these reads until ") || !strings.Contains(text, "watched: the watch list (similar) limits these reads to 6.00 RU (dryRun)") {
				t.Errorf("the report: %s", d)
			}
		}
	}
	if !found {
		t.Errorf("the report: %s", report)
	}
	remove("exact")
	remove("similar")

	for watch, others := range map[string]int{"exact": 8253, "plan": 411} {
		z.caps(`commands: 5, watch: {after: 2, durationSecs: 100, kind: "` + watch + `"}`)
		for range 2 {
			if code := z.code(commands[0].cmd); code != 8253 {
				t.Errorf("%s: code %d", watch, code)
			}
		}
		if code := z.code(commands[0].cmd); code != 411 {
			t.Errorf("%s, the command again: code %d", watch, code)
		}
		if code := z.code(commands[2].cmd); code != others {
			t.Errorf("%s, another command: code %d", watch, code)
		}
		z.caps(``)
		remove(watch)
	}

	// Reads that have settings of another kind keep them, and are not refused.
	set("similar", `runaway: {maxRequestUnits: 50}`)
	z.caps(`commands: 5, watch: {after: 1, durationSecs: 100, kind: "exact"}`)
	for range 3 {
		if code := z.code(commands[0].cmd); code != 8253 {
			t.Errorf("a read with settings: code %d", code)
		}
	}
	z.caps(``)
	remove("similar")
}
