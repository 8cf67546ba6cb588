package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// fill inserts n documents, which doc returns as Extended JSON.
func fill(t *testing.T, db *mongo.Database, coll string, n int, doc func(i int) string) {
	t.Helper()
	for from := 0; from < n; from += 500 {
		var docs []string
		for i := from; i < min(n, from+500); i++ {
			docs = append(docs, doc(i))
		}
		run(t, db, fmt.Sprintf(`{insert: %q, documents: [%s]}`, coll, strings.Join(docs, ",")))
	}
}

// advise runs the verb, which must succeed.
func advise(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	if code := verbStatus(t, "advise", "", &out, &errs, args...); code != 0 {
		t.Fatalf("status %d: %s", code, errs.String())
	}
	return out.String()
}

// best returns the key that follows "Best: " in the output.
func best(t *testing.T, out string) string {
	t.Helper()
	_, rest, ok := strings.Cut(out, "Best: ")
	if !ok {
		t.Fatalf("no advice:\n%s", out)
	}
	key, _, _ := strings.Cut(rest, ". ")
	return key
}

// User profiles: all queries but one fix the user, so the best shard key is the user.
func TestAdviseProfiles(t *testing.T) {
	uri, db := start(t)
	fill(t, db, "profiles", 2000, func(i int) string {
		return fmt.Sprintf(`{_id: %d, userId: "u%d", country: "%s", plan: "%s", age: %d, tags: ["a"]}`, i, i, []string{"de", "us", "us", "fr"}[i%4], []string{"free", "pro"}[i%2], 20+i%50)
	})
	for i := range 30 {
		run(t, db, fmt.Sprintf(`{find: "profiles", filter: {userId: "u%d"}}`, i))
		run(t, db, fmt.Sprintf(`{update: "profiles", updates: [{q: {userId: "u%d"}, u: {$set: {age: 5}}}]}`, i))
	}
	run(t, db, `{find: "profiles", filter: {country: "de"}}`)
	out := advise(t, uri, "test.profiles")
	if best(t, out) != "userId" || !strings.Contains(out, `db.adminCommand({shardCollection: "test.profiles", key: {"userId": "hashed"}})`) {
		t.Errorf("profiles:\n%s", out)
	}
	if !strings.Contains(out, "only 2 values") || strings.Contains(out, "tags") {
		t.Errorf("what speaks against plan is not said, or an array is proposed:\n%s", out)
	}
}

// Device telemetry, queried by device and time.
func TestAdviseTelemetry(t *testing.T) {
	uri, db := start(t)
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	fill(t, db, "readings", 4000, func(i int) string {
		at := day.Add(time.Duration(i) * time.Minute)
		return fmt.Sprintf(`{deviceId: "d%d", at: {$date: "%s"}, day: "%s", site: %d, value: %d.5}`, i%400, at.Format(time.RFC3339), at.Format(time.DateOnly), i%3, i%17)
	})
	for i := range 40 {
		run(t, db, fmt.Sprintf(`{find: "readings", filter: {deviceId: "d%d", at: {$gt: {$date: "2026-11-02T00:00:00Z"}}}}`, i))
	}
	out := advise(t, uri, "test.readings")
	if best(t, out) != "deviceId" {
		t.Errorf("telemetry:\n%s", out)
	}
	// A date key makes today's partition hot.
	out = advise(t, "--fields", "day,site", "--query", "{day: '2026-11-05'}", uri, "test.readings")
	if !strings.Contains(out, "100% of the newest documents") || !strings.Contains(out, "10k RU/s") {
		t.Errorf("date key:\n%s", out)
	}
}

// All queries are by a date: a suffix spreads today's writes.
func TestAdviseSynthetic(t *testing.T) {
	uri, db := start(t)
	fill(t, db, "events", 4000, func(i int) string {
		at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Minute)
		return fmt.Sprintf(`{day: "%s", at: {$date: "%s"}, vin: "v%d"}`, at.Format(time.DateOnly), at.Format(time.RFC3339), i%1500)
	})
	for i := range 20 {
		run(t, db, fmt.Sprintf(`{find: "events", filter: {day: "2026-11-02", vin: "v%d"}}`, i))
	}
	out := advise(t, "--fields", "day,vin", uri, "test.events")
	if !strings.Contains(out, "day + vin/40") || !strings.Contains(out, "day > vin") {
		t.Errorf("no synthetic and no hierarchical key:\n%s", out)
	}
	if got := best(t, out); got == "day" {
		t.Errorf("the hot date is the best key:\n%s", out)
	}
	if !strings.Contains(out, "day + random/40") {
		t.Errorf("no random suffix:\n%s", out)
	}
	// The printed commands work, on an unsharded collection and on one with another key; afterwards the ranking marks
	// the new key as the present one.
	out = advise(t, "--fields", "day", uri, "test.events")
	if best(t, out) != "day + random/40" {
		t.Errorf("day alone is better than a random suffix:\n%s", out)
	}
	obey(t, db, out)
	for _, fields := range []string{"day,vin", "day"} {
		out = advise(t, "--fields", fields, uri, "test.events")
		if fields == "day,vin" && best(t, out) != "day + vin/40" {
			t.Errorf("not the synthetic key:\n%s", out)
		}
		if !strings.Contains(out, "day + random/40 *") {
			t.Errorf("the key there is has no mark:\n%s", out)
		}
	}
	obey(t, db, advise(t, "--fields", "day,vin", uri, "test.events"))
	out = advise(t, "--fields", "day,vin", uri, "test.events")
	if best(t, out) != "day + vin/40" || !strings.Contains(out, "day + vin/40 *") || strings.Contains(out, "day > vin *") || !strings.Contains(out, "nothing to do") {
		t.Errorf("the key there is:\n%s", out)
	}
}

// obey runs the command that advise prints.
func obey(t *testing.T, db *mongo.Database, out string) {
	t.Helper()
	_, command, ok := strings.Cut(out, "db.adminCommand(")
	command, _, end := strings.Cut(command, ")\n")
	if !ok || !end {
		t.Fatalf("no command:\n%s", out)
	}
	run(t, db.Client().Database("admin"), command)
}

// Tenants of very different sizes: a second field in the shard key divides the large tenant.
func TestAdviseTenants(t *testing.T) {
	uri, db := start(t)
	fill(t, db, "orders", 4000, func(i int) string {
		tenant := "big"
		if i%2 == 0 {
			tenant = fmt.Sprintf("t%d", i%300)
		}
		return fmt.Sprintf(`{_id: %d, tenantId: "%s", userId: "u%d", total: %d}`, i, tenant, i%900, i%13)
	})
	for i := range 20 {
		run(t, db, fmt.Sprintf(`{find: "orders", filter: {tenantId: "big", userId: "u%d"}}`, i))
		run(t, db, fmt.Sprintf(`{find: "orders", filter: {tenantId: "t%d"}}`, i*2))
	}
	out := advise(t, "--fields", "tenantId,userId,total", uri, "test.orders")
	if best(t, out) != "tenantId > userId" || !strings.Contains(out, "50% of the bytes") {
		t.Errorf("tenants:\n%s", out)
	}
	run(t, db.Client().Database("admin"), `{shardCollection: "test.orders", key: {tenantId: "hashed"}}`)
	if out = advise(t, "--fields", "tenantId,userId", uri, "test.orders"); !strings.Contains(out, "tenantId *") || !strings.Contains(out, "reshardCollection") {
		t.Errorf("the present key is not marked:\n%s", out)
	}
}

// With too few requests the ranking states this, and does not print the expensive command. On a tie it prefers the
// current key and its refinements. Documents that are too few get no advice.
func TestAdviseUnsure(t *testing.T) {
	uri, db := start(t)
	run(t, db.Client().Database("admin"), `{shardCollection: "test.orders", key: {customer: "hashed"}}`)
	fill(t, db, "orders", 1000, func(i int) string {
		return fmt.Sprintf(`{_id: %d, account: "a%d", customer: "c%d", total: %d}`, i, i%40, i%40, i%97)
	})
	run(t, db, `{find: "orders", filter: {customer: "c1", account: "a1"}}`)
	out := advise(t, uri, "test.orders")
	flat := strings.Join(strings.Fields(out), " ")
	if !strings.Contains(flat, "Too little is known: only 1 request other than inserts was recorded, and at least 20 are needed") {
		t.Errorf("one request is enough:\n%s", out)
	}
	if b := best(t, out); !strings.HasPrefix(b, "customer") {
		t.Errorf("on a tie %s is better than the current key:\n%s", b, out)
	} else if b != "customer" && (strings.Contains(out, "adminCommand") || !strings.Contains(out, "too little was recorded")) {
		t.Errorf("a command is printed:\n%s", out)
	}
	for i := range 20 {
		run(t, db, fmt.Sprintf(`{find: "orders", filter: {customer: "c%d", account: "a%d"}}`, i, i))
	}
	if out = advise(t, uri, "test.orders"); strings.Contains(out, "Too little") || !strings.HasPrefix(best(t, out), "customer") {
		t.Errorf("with 21 requests:\n%s", out)
	}
	run(t, db, `{insert: "one", documents: [{a: 1}]}`)
	var text strings.Builder
	if code := verbStatus(t, "advise", "", &text, &text, uri, "test.one"); code != 1 || !strings.Contains(text.String(), "test.one has 1 document, too few to rank shard keys") {
		t.Errorf("status %d: %s", code, text.String())
	}
}

func TestAdviseVerb(t *testing.T) {
	uri, db := start(t)
	verb := func(args ...string) (int, string) {
		var out strings.Builder
		return verbStatus(t, "advise", "", &out, &out, args...), out.String()
	}
	run(t, db, `{create: "empty"}`)
	if code, out := verb(uri, "test.empty"); code != 1 || !strings.Contains(out, "no documents") {
		t.Errorf("status %d: %s", code, out)
	}
	for _, bad := range [][]string{{}, {uri}, {uri, "nodot"}, {"--partitions", "0", uri, "test.c"}, {"--sample", "-1", uri, "test.c"}} {
		if code, _ := verb(bad...); code != 2 {
			t.Errorf("%v: status %d", bad, code)
		}
	}
	if code, out := verb(uri, "test.none"); code != 1 || !strings.Contains(out, "none") {
		t.Errorf("status %d: %s", code, out)
	}
	fill(t, db, "c", 3000, func(i int) string { return fmt.Sprintf(`{a: %d, deep: {b: {c: {d: %d}}}}`, i, i) })
	if out := advise(t, "--sample", "500", uri, "test.c"); !strings.Contains(out, "500 documents read") || !strings.Contains(out, "no requests were recorded") && strings.Contains(out, "d.d") {
		t.Errorf("sampled:\n%s", out)
	}
	if code, out := verb("--query", "{a: }", uri, "test.c"); code != 2 || !strings.Contains(out, "--query") {
		t.Errorf("status %d: %s", code, out)
	}
}

// The fixed fields of --query are those that the filter compares for equality or by $in, also in $and.
func TestParseQuery(t *testing.T) {
	for filter, want := range map[string]string{
		`{}`:                                 "",
		`{a: 1, b: {c: 2}, d: null, e: [1]}`: "a b d e",
		`{a: {$gt: 1, $in: [2, 3]}, b: {$gt: 1}}`:                                                              "a",
		`{a: {$exists: true, $eq: {$regex: "^x"}}}`:                                                            "a",
		`{$and: [{a: 1}, {b: {$gt: 2}, $and: [{c: {$in: [1]}}]}], a: {$eq: 1}}`:                                "a c",
		`{$or: [{a: 1}, {b: 1}], $nor: [{c: 1}], $expr: {$eq: ["$d", 1]}, e: 1}`:                               "e",
		`{a: {$regularExpression: {pattern: "x", options: ""}}, b: {$regex: "x"}}`:                             "",
		`{a: {$in: [1, {$regularExpression: {pattern: "x", options: ""}}]}, b: {$not: {$eq: 1}}, c: {$ne: 1}}`: "",
	} {
		r, err := parseQuery(t.Context(), filter)
		if got := strings.Join(r.Fixed, " "); err != nil || got != want {
			t.Errorf("%s: %q, not %q: %v", filter, got, want, err)
		}
	}
	for _, bad := range []string{`{a: }`, ``} {
		if _, err := parseQuery(t.Context(), bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestReportVerb(t *testing.T) {
	uri, db := start(t)
	run(t, db.Client().Database("admin"), `{shardCollection: "test.c", key: {k: "hashed"}, numInitialChunks: 4}`)
	fill(t, db, "c", 100, func(i int) string { return fmt.Sprintf(`{k: %d, a: %d}`, i, i) })
	for range 3 {
		run(t, db, `{find: "c", filter: {a: 5}, sort: {k: 1}}`)
	}
	verb := func(args ...string) (int, string) {
		var out strings.Builder
		return verbStatus(t, "report", "", &out, &out, args...), out.String()
	}
	code, out := verb(uri, "test.c")
	for _, want := range []string{"{a: ?} {k: 1}", "test.c", "fan-out: 3 of 3 runs", "by 2 shapes", "Applications and users with most of the recent load", "mongo-go-driver"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("status %d, without %q:\n%s", code, want, out)
		}
	}
	if code, out = verb(uri, "--reset"); code != 0 || !strings.Contains(out, "test.c") {
		t.Errorf("status %d: %s", code, out)
	}
	if code, out = verb(uri, "test"); code != 0 || !strings.Contains(out, "no commands have been recorded yet") {
		t.Errorf("after the reset: status %d: %s", code, out)
	}
	if code, _ = verb(); code != 2 {
		t.Errorf("status %d", code)
	}
}
