package rooms

import (
	"testing"
	"testing/synctest"

	"github.com/cantledb/cantle/storage/memkv"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// TestCurrentOp checks that currentOp lists a running command as it was sent, that a filter applies, and that killOp
// ends the command by its id.
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

// TestDropWaits checks that a drop that waits for an open transaction is listed as an operation that waits for a lock.
func TestDropWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c := w.dial()
		c.ok(`{insert: "c", documents: [{_id: 1}]}`)
		const txn = `lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "04"}}}, txnNumber: {$numberLong: "1"}, autocommit: false`
		c.ok(`{delete: "c", deletes: [{q: {_id: 1}, limit: 1}], startTransaction: true, ` + txn + `}`)
		done := make(chan int64, 1)
		dropper := w.dial()
		go func() { done <- dropper.code(`{drop: "c"}`) }()
		synctest.Wait()
		op, _ := at(c.ok(`{currentOp: 1, "command.drop": "c", $db: "admin"}`), "inprog.0").Doc()
		if !op.Get("waitingForLock").Truthy() || text(at(op, "locks.Global")) != "w" {
			t.Errorf("the drop that waits is listed as %v", op)
		}
		c.ok(`{commitTransaction: 1, $db: "admin", ` + txn + `}`)
		if code := <-done; code != 0 {
			t.Errorf("the drop failed with %d", code)
		}
	})
}

// TestFsyncLock checks that, after fsync with lock, writes wait until fsyncUnlock has run as often as fsync, and
// that reads do not wait.
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
		if got := w.dial().code(`{insert: "c", documents: [{_id: 3}], maxTimeMS: 2000}`); got != 50 {
			t.Errorf("a write that does not want to wait: %d", got)
		}
		op, _ := at(c.ok(`{currentOp: 1, "command.insert": "c", $db: "admin"}`), "inprog.0").Doc()
		if !op.Get("waitingForLock").Truthy() || text(at(op, "locks.Global")) != "w" || number(at(op, "lockStats.Global.timeAcquiringMicros.w")) < 2e6 {
			t.Errorf("the write that waits is listed as %v", op)
		}
		if r := c.ok(`{lockInfo: 1, $db: "admin"}`); text(at(r, "lockInfo.0.granted.0.mode")) != "S" || text(at(r, "lockInfo.0.pending.0.mode")) != "IX" {
			t.Errorf("lockInfo: %v", r)
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
		locks, _ := c.ok(`{serverStatus: 1}`).Get("locks").Doc()
		if number(at(locks, "Global.acquireCount.R")) != 2 || number(at(locks, "Global.acquireWaitCount.w")) != 5 || number(at(locks, "Global.timeAcquiringMicros.w")) < 2e6 {
			t.Errorf("serverStatus.locks: %v", locks)
		}
		if got := c.code(`{fsyncUnlock: 1, $db: "admin"}`); got != 20 {
			t.Errorf("unlocked too often: %d", got)
		}
	})
}

// TestUserWriteBlock checks that a block of the writes of users survives a restart, and that only a user with the
// privilege to bypass it can then create a collection.
func TestUserWriteBlock(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	w := newWorld(t, store)
	c := w.dial()
	c.ok(`{setUserWriteBlockMode: 1, global: true, $db: "admin"}`)

	w = newWorld(t, store)
	w.RequireAuth = true
	for _, want := range []struct {
		actions []auth.Action
		code    int64
	}{{[]auth.Action{auth.CreateCollection}, 371}, {[]auth.Action{auth.CreateCollection, auth.BypassWriteBlockingMode}, 0}} {
		grants := auth.NewGrants([]auth.Privilege{{Resource: auth.Resource{Kind: auth.OnAny}, Actions: auth.MakeActions(want.actions...)}})
		c = w.dial()
		w.enter(c, &command.Login{Name: auth.Name{Name: "u", DB: "admin"}, Version: w.Auth.Version(), Grants: grants})
		if got := c.code(`{create: "c"}`); got != want.code {
			t.Errorf("a create by who may %v: %d, want %d", want.actions, got, want.code)
		}
	}
}

// serverStatus counts the updates by a pipeline and the updates with array filters separately.
func TestUpdatesCounted(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{update: "c", updates: [{q: {}, u: [{$set: {a: 1}}]}, {q: {}, u: {$set: {"a.$[x]": 1}}, arrayFilters: [{x: 1}]}, {q: {}, u: {$set: {a: 1}}}]}`)
	c.ok(`{update: "c", updates: [{q: {}, u: [{$set: {a: 1}}]}]}`)
	c.ok(`{findAndModify: "c", query: {}, update: [{$set: {a: 1}}]}`)
	commands, _ := at(c.ok(`{serverStatus: 1}`), "metrics.commands").Doc()
	for path, want := range map[string]int64{"update.pipeline": 2, "update.arrayFilters": 1, "findAndModify.pipeline": 1, "findAndModify.arrayFilters": 0} {
		if n := number(at(commands, path)); n != want {
			t.Errorf("%s is %d, want %d", path, n, want)
		}
	}
}
