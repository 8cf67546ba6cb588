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
		if number(update.Get("durationMillis")) < 20000 || number(update.Get("workingMillis")) > 1000 || number(at(update, "command.q.a")) != 1 || text(update.Get("planSummary")) != "COLLSCAN" {
			t.Errorf("the slow update: %v", update)
		}
		log.Reset()
		c.ok(`{find: "c"}`)
		if log.Len() > 0 {
			t.Errorf("a quick command is logged: %s", &log)
		}
	})
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
		if lines := slowLines(t, &log, "Slow query"); len(lines) != 1 || text(at(lines[0], "command.pwd")) != "xxx" {
			t.Errorf("a command with a password: %v", lines)
		}
		if strings.Contains(log.String(), "verysecret") {
			t.Error("the password is in the log")
		}
	})
}
