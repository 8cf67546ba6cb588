package rooms

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
)

// slowLines returns the lines of a log that have the given message, each as a document of its attributes.
func slowLines(t *testing.T, log *bytes.Buffer, message string) (list []bson.Raw) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		d := bsontest.Doc(t, line)
		if text(d.Get("message")) == message {
			attr, _ := d.Get("attr").Doc()
			list = append(list, attr)
		}
	}
	return list
}

// TestSlowQueryLog checks that a slow command is logged although nothing is profiled, and only once while it runs.
// The time for which it waits for the lock of fsync counts as duration, but not as work. A fast command is not
// logged.
func TestSlowQueryLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var log bytes.Buffer
		w.Log = zerolog.New(&log)
		c, other := w.dial(), w.dial()
		c.ok(`{insert: "c", documents: [{_id: 1}]}`)
		c.ok(`{fsync: 1, lock: true, $db: "admin"}`)
		done := make(chan int64, 1)
		go func() { done <- other.code(`{update: "c", updates: [{q: {a: 1}, u: {$set: {b: 1}}}]}`) }()
		if got := w.dial().code(`{insert: "c", documents: [{_id: 3}], maxTimeMS: 20000}`); got != 50 {
			t.Fatalf("a write while the lock is held: %d", got)
		}
		c.ok(`{fsyncUnlock: 1, $db: "admin"}`)
		if code := <-done; code != 0 {
			t.Fatalf("the update that waited: %d", code)
		}
		running := slowLines(t, &log, "Slow in-progress query")
		if len(running) != 2 {
			t.Fatalf("commands logged while they went on: %v", running)
		}
		for _, d := range running {
			if took := number(d.Get("durationMillis")); took < 5000 || took > 6100 || number(d.Get("workingMillis")) > 1000 || text(d.Get("ns")) != "test.c" {
				t.Errorf("logged while it went on: %v", d)
			}
		}
		var update bson.Raw
		for _, d := range slowLines(t, &log, "Slow query") {
			if text(d.Get("type")) == "update" {
				update = d
			}
		}
		if number(update.Get("durationMillis")) < 20000 || number(update.Get("workingMillis")) > 1000 || text(at(update, "command.q.a")) != "###" || text(update.Get("planSummary")) != "COLLSCAN" {
			t.Errorf("the slow update: %v", update)
		}
		log.Reset()
		c.ok(`{find: "c"}`)
		if log.Len() > 0 {
			t.Errorf("a quick command is logged: %s", &log)
		}
	})
}

// TestSlowLogValues checks that the log has the fields and operators of a slow command and its values
// only with LogValues; inserted documents, session and cluster time are in neither.
func TestSlowLogValues(t *testing.T) {
	w := newWorld(t, nil)
	var log bytes.Buffer
	w.Log = zerolog.New(&log)
	c := w.dial()
	c.ok(`{profile: 0, slowms: -1}`)
	run := func(values bool) string {
		w.Status.LogValues = values
		log.Reset()
		c.ok(`{insert: "c", documents: [{secret1: "secret2"}], comment: "secret9", ordered: false}`)
		c.ok(`{find: "c", filter: {name: "secret3", n: {$in: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}}, sort: {name: -1}, limit: 5, projection: {name: 1}}`)
		c.ok(`{aggregate: "c", pipeline: [{$match: {a: "secret4"}}, {$group: {_id: "$a"}}], cursor: {}}`)
		c.ok(`{explain: {find: "c", filter: {name: "secret5"}}}`)
		c.ok(`{bulkWrite: 1, ops: [{insert: 0, document: {secret1: "secret2"}}, {update: 0, filter: {b: "secret6"}, updateMods: {$set: {b: 1}}}], nsInfo: [{ns: "test.c"}], $db: "admin"}`)
		c.ok(`{createIndexes: "c", indexes: [{key: {u: 1}, name: "u", unique: true, sparse: true}]}`)
		c.ok(`{insert: "c", documents: [{_id: 7, u: "secret7"}]}`)
		c.run(`{findAndModify: "c", query: {_id: "secret8"}, update: {$set: {u: "secret7"}}, upsert: true}`) // E11000 quotes it
		c.run(`{mapReduce: "c", map: "function() { emit('secretX0', 1) }", reduce: {$code: "function(k, v) { return 'secretX1' }"}, out: {inline: 1}}`)
		c.run(`{find: "c", hint: {u: "secretX2"}, comment: {at: "secretX3"}}`)
		c.run(`{find: "c", hint: "u_1", limit: "secretX4", sort: "secretX5"}`)
		c.run(`{find: "c", hint: {u: 1}}`)
		c.ok(`{dropIndexes: "c", index: "u"}`)
		c.ok(`{delete: "c", deletes: [{q: {}, limit: 0}]}`)
		return log.String()
	}
	hidden, shown := run(false), run(true)
	for i, n := range []string{"secret1", "secret2", "secret3", "secret4", "secret5", "secret6", "secret7", "secret8", "secret9", "secretX0", "secretX1", "secretX2", "secretX3", "secretX4", "secretX5"} {
		if strings.Contains(hidden, n) || strings.Contains(shown, n) != (i >= 2) {
			t.Errorf("%s: %v in the log with values", n, strings.Contains(shown, n))
		}
	}
	for _, want := range []string{`"comment":"###"`, `"hint":"u_1"`, `"hint":{"u":1}`, `"hint":{"u":"###"}`, `"ordered":false`, `"map":"###"`, `"filter":{"name":"###","n":{"$in":["###"`, `"... 2 more"`, `"sort":{"name":-1}`, `"limit":5`,
		`"pipeline":[{"$match":{"a":"###"}},{"$group":{"_id":"###"}}]`, `"filter":{"b":"###"}`, `"errName":"DuplicateKey"`} {
		if !strings.Contains(hidden, want) {
			t.Errorf("%s is not in the log:\n%s", want, hidden)
		}
	}
	if strings.Contains(hidden+shown, "lsid") || strings.Contains(hidden+shown, "$clusterTime") {
		t.Error("session or cluster time are in the log")
	}
}

// TestSlowLogSettings checks that the threshold for running commands can be set, that the time for which a getMore
// waits for new documents does not count, and that passwords are not logged.
func TestSlowLogSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var log bytes.Buffer
		w.Log = zerolog.New(&log)
		c := w.dial()
		if r := c.ok(`{profile: 0, slowinprogms: 60000}`); number(r.Get("slowinprogms")) != 5000 {
			t.Errorf("the threshold at first: %v", r)
		}
		if r := c.ok(`{profile: -1}`); number(r.Get("slowinprogms")) != 60000 {
			t.Errorf("the threshold that was set: %v", r)
		}
		c.ok(`{create: "c", capped: true, size: 4096}`)
		c.ok(`{insert: "c", documents: [{_id: 1}]}`)
		id := ejsonNumber(number(at(c.ok(`{find: "c", tailable: true, awaitData: true}`), "cursor.id")))
		c.ok(`{getMore: {$numberLong: "` + id + `"}, collection: "c", maxTimeMS: 30000}`)
		if log.Len() > 0 {
			t.Errorf("waiting is logged: %s", &log)
		}
		c.ok(`{profile: 0, slowms: -1}`)
		c.ok(`{createUser: "u", pwd: "verysecret", roles: []}`)
		c.ok(`{profile: 0, slowms: 100}`)
		if lines := slowLines(t, &log, "Slow query"); len(lines) != 1 || text(at(lines[0], "command.pwd")) != "###" {
			t.Errorf("a command with a password: %v", lines)
		}
		if strings.Contains(log.String(), "verysecret") {
			t.Error("the password is in the log")
		}
	})
}
