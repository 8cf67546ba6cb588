package rooms

import (
	"testing"
	"testing/synctest"
)

// TestCurrentOp: a running command is listed, filtered, and ended by its number;
// the listing shows it as it was sent.
func TestCurrentOp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c, slow := w.dial(), w.dial()
		c.ok(`{configureFailPoint: "failCommand", mode: "alwaysOn", data: {failCommands: ["count"], blockConnection: true, blockTimeMS: 60000}, $db: "admin"}`)
		slow.ok(`{hello: 1, client: {application: {name: "app"}, driver: {name: "d", version: "1"}, os: {type: "o"}}}`)
		done := make(chan int64, 1)
		go func() { done <- slow.code(`{count: "c", query: {a: 7}}`) }()
		synctest.Wait() // until the fail point holds the command
		op, _ := at(c.ok(`{currentOp: 1, "command.count": "c", $db: "admin"}`), "inprog.0").Doc()
		if text(op.Get("ns")) != "test.c" || number(at(op, "command.query.a")) != 7 || text(op.Get("appName")) != "app" || !op.Get("active").Truthy() {
			t.Errorf("listed as %v", op)
		}
		if r := c.ok(`{currentOp: 1, ns: "test.other", $db: "admin"}`); !at(r, "inprog.0").IsMissing() {
			t.Errorf("the filter let through %v", r)
		}
		if r := c.ok(`{currentOp: 1, $all: true, active: false, $db: "admin"}`); !at(r, "inprog.0").IsMissing() {
			t.Errorf("both connections are busy: %v", r)
		}
		c.ok(`{killOp: 1, op: ` + ejsonNumber(number(op.Get("opid"))) + `, $db: "admin"}`)
		synctest.Wait()
		select {
		case code := <-done:
			if code != 11601 {
				t.Errorf("the killed command failed with %d", code)
			}
		default:
			t.Fatal("the killed command goes on")
		}
		if got := slow.code(`{hello: 1}`); got != 0 {
			t.Errorf("the next command of the connection: %d", got)
		}
	})
}

// TestKillOpArguments: an operation is a number of 32 bits.
func TestKillOpArguments(t *testing.T) {
	c := newWorld(t, nil).dial()
	for cmd, want := range map[string]int64{
		`{killOp: 1, op: 123456, $db: "admin"}`:                       0,
		`{killOp: 1, op: 1.0, x: 1, $db: "admin"}`:                    0,
		`{killOp: 1, $db: "admin"}`:                                   4,
		`{killOp: 1, op: "1", $db: "admin"}`:                          14,
		`{killOp: 1, op: 1.5, $db: "admin"}`:                          2,
		`{killOp: 1, op: {$numberLong: "2147483648"}, $db: "admin"}`:  26823,
		`{killOp: 1, op: {$numberDecimal: "Infinity"}, $db: "admin"}`: 26823,
		`{killOp: 1, op: 1}`:                                          13,
	} {
		if got := c.code(cmd); got != want {
			t.Errorf("%s: %d, want %d", cmd, got, want)
		}
	}
}

// TestFsyncLock: writes wait until the lock is given back as often as it was
// taken, reads do not.
func TestFsyncLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c, writer := w.dial(), w.dial()
		c.ok(`{insert: "c", documents: [{_id: 1}]}`)
		for n := range int64(2) {
			if r := c.ok(`{fsync: 1, lock: true, $db: "admin"}`); number(r.Get("lockCount")) != n+1 {
				t.Errorf("lock: %v", r)
			}
		}
		done := make(chan int64, 1)
		go func() { done <- writer.code(`{insert: "c", documents: [{_id: 2}]}`) }()
		if r := c.ok(`{count: "c"}`); number(r.Get("n")) != 1 {
			t.Errorf("%v documents", r.Get("n"))
		}
		if got := w.dial().code(`{insert: "c", documents: [{_id: 3}], maxTimeMS: 5}`); got != 50 {
			t.Errorf("a write that does not want to wait: %d", got)
		}
		for _, last := range []string{`{$out: "d"}`, `{$merge: "d"}`} {
			if got := w.dial().code(`{aggregate: "c", pipeline: [` + last + `], cursor: {}, maxTimeMS: 5}`); got != 50 {
				t.Errorf("an aggregate with %s: %d", last, got)
			}
		}
		w.JavaScript = true
		if got := w.dial().code(`{mapReduce: "c", map: "function() {}", reduce: "function() {}", out: "d", maxTimeMS: 5}`); got != 50 {
			t.Errorf("a mapReduce into a collection: %d", got)
		}
		c.ok(`{fsyncUnlock: 1, $db: "admin"}`)
		synctest.Wait()
		select {
		case <-done:
			t.Error("a write went in while the lock was held")
		default:
		}
		if r := c.ok(`{fsyncUnlock: 1, $db: "admin"}`); number(r.Get("lockCount")) != 0 {
			t.Errorf("unlock: %v", r)
		}
		if code := <-done; code != 0 {
			t.Errorf("the write that waited: %d", code)
		}
		if got := c.code(`{fsyncUnlock: 1, $db: "admin"}`); got != 20 {
			t.Errorf("unlocked too often: %d", got)
		}
	})
}
