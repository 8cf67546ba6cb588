package rooms

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cantledb/cantle/wire"
)

// TestFailCommand checks the options of the fail point failCommand, which the tests of drivers use.
func TestFailCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c := w.dial()
		set := func(mode, data string) {
			t.Helper()
			c.ok(`{configureFailPoint: "failCommand", mode: ` + mode + `, data: {failCommands: ["ping"], ` + data + `}, $db: "admin"}`)
		}
		set(`{times: 2}`, `errorCode: 91, errorLabels: ["RetryableWriteError"]`)
		r := c.run(`{ping: 1}`)
		if number(r.Get("code")) != 91 || text(at(r, "errorLabels.0")) != "RetryableWriteError" {
			t.Errorf("failed ping: %v", r)
		}
		if got := c.code(`{hello: 1}`); got != 0 {
			t.Errorf("another command failed: %d", got)
		}
		if a, b := c.code(`{ping: 1}`), c.code(`{ping: 1}`); a != 91 || b != 0 {
			t.Errorf("second and third ping: %d, %d", a, b)
		}
		set(`{skip: 1}`, `errorCode: 1`)
		if a, b, d := c.code(`{ping: 1}`), c.code(`{ping: 1}`), c.code(`{ping: 1}`); a != 0 || b != 1 || d != 1 {
			t.Errorf("skip one: %d, %d, %d", a, b, d)
		}
		set(`"alwaysOn"`, `closeConnection: true`)
		if _, _, err := c.send(t.Context(), 0, `{ping: 1}`); !errors.Is(err, wire.ErrHangUp) {
			t.Errorf("closeConnection: %v", err)
		}
		set(`"alwaysOn"`, `blockConnection: true, blockTimeMS: 20`)
		begin := time.Now()
		if got := c.code(`{ping: 1}`); got != 0 || time.Since(begin) != 20*time.Millisecond {
			t.Errorf("blocked ping: %d after %v", got, time.Since(begin))
		}
		set(`"alwaysOn"`, `errorCode: 1, appName: "other"`)
		if got := c.code(`{ping: 1}`); got != 0 {
			t.Errorf("another application's fail point: %d", got)
		}
		set(`{times: 1}`, `writeConcernError: {code: 64, errmsg: "slow"}, errorLabels: ["RetryableWriteError"]`)
		r = c.ok(`{ping: 1}`)
		if number(at(r, "writeConcernError.code")) != 64 || text(at(r, "errorLabels.0")) != "RetryableWriteError" {
			t.Errorf("write concern error: %v", r)
		}
		if r := c.ok(`{configureFailPoint: "failCommand", mode: "off", $db: "admin"}`); number(r.Get("count")) != 7 {
			t.Errorf("it was entered %v times", r.Get("count"))
		}
		if got := c.code(`{ping: 1}`); got != 0 {
			t.Errorf("off: %d", got)
		}
	})
}

// TestFailHandshake checks that a fail point for an application name already applies to the hello that contains this
// name.
func TestFailHandshake(t *testing.T) {
	w := newWorld(t, nil)
	w.dial().ok(`{configureFailPoint: "failCommand", mode: {times: 1}, data: {failCommands: ["isMaster", "hello"], errorCode: 91, appName: "probed"}, $db: "admin"}`)
	hello := func(app string) string {
		return `{hello: 1, client: {application: {name: "` + app + `"}, driver: {name: "d", version: "1"}, os: {type: "Linux"}}}`
	}
	if got := w.dial().code(hello("other")); got != 0 {
		t.Errorf("another application: %d", got)
	}
	c := w.dial()
	if a, b := c.code(hello("probed")), c.code(hello("probed")); a != 91 || b != 0 {
		t.Errorf("the application: %d and %d, want 91 and 0", a, b)
	}
}

// TestTestVersion2 checks that testVersion2, a command for tests, is refused under the strict stable API, as every
// command outside of the API is, and is unknown without test commands.
func TestTestVersion2(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	for cmd, want := range map[string]int64{
		`{testVersion2: 1}`:                                   0,
		`{testVersion2: 1, apiVersion: "1"}`:                  0,
		`{testVersion2: 1, apiVersion: "1", apiStrict: true}`: 323,
	} {
		if got := c.code(cmd); got != want {
			t.Errorf("%s: %d, want %d", cmd, got, want)
		}
	}
	w.TestCommands = false
	if got := c.code(`{testVersion2: 1}`); got != 59 {
		t.Errorf("without test commands: %d", got)
	}
}

// TestFailPointArguments: invalid fail points are refused.
func TestFailPointArguments(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	for cmd, want := range map[string]int64{
		`{configureFailPoint: "noSuch", mode: "off", $db: "admin"}`:                                          266,
		`{configureFailPoint: "failCommand", $db: "admin"}`:                                                  40414,
		`{configureFailPoint: "failCommand", mode: "sometimes", $db: "admin"}`:                               2,
		`{configureFailPoint: "failCommand", mode: {times: -1}, $db: "admin"}`:                               2,
		`{configureFailPoint: "failCommand", mode: "off", data: {bogus: 1}, $db: "admin"}`:                   2,
		`{configureFailPoint: "failCommand", mode: "alwaysOn", data: {blockConnection: true}, $db: "admin"}`: 72,
		`{configureFailPoint: "failCommand", mode: "alwaysOn", data: {failCommands: 1}, $db: "admin"}`:       14,
		`{configureFailPoint: "failCommand", mode: "off"}`:                                                   13,
	} {
		if got := c.code(cmd); got != want {
			t.Errorf("%s: %d, want %d", cmd, got, want)
		}
	}
	w.TestCommands = false
	if got := c.code(`{configureFailPoint: "failCommand", mode: "off", $db: "admin"}`); got != 59 {
		t.Errorf("without test commands: %d", got)
	}
}

// TestFailWrite checks retries of a retryable update that failed by the fail point onPrimaryTransactionalWrite: if the
// connection was lost after the commit, the retry returns the stored result; if the write failed before its commit, the
// retry runs the write.
func TestFailWrite(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	set := func(mode, data string) {
		t.Helper()
		c.ok(`{configureFailPoint: "onPrimaryTransactionalWrite", mode: ` + mode + `, data: {` + data + `}, $db: "admin"}`)
	}
	number1 := `, ` + lsid + `, txnNumber: {$numberLong: "`
	c.ok(`{insert: "c", documents: [{_id: 0, n: 0}]}`)
	set(`{times: 1}`, ``)
	inc := `{update: "c", updates: [{q: {_id: 0}, u: {$inc: {n: 1}}}]` + number1 + `1"}}`
	if _, _, err := c.send(t.Context(), 0, inc); !errors.Is(err, wire.ErrHangUp) {
		t.Fatalf("closeConnection: %v", err)
	}
	c = w.dial()
	if r := c.ok(inc); number(r.Get("nModified")) != 1 || at(r, "retriedStmtIds.0").IsMissing() {
		t.Errorf("repeated after the commit: %v", r)
	}
	set(`{times: 1}`, `failBeforeCommitExceptionCode: 91, closeConnection: false`)
	inc = `{update: "c", updates: [{q: {_id: 0}, u: {$inc: {n: 1}}}]` + number1 + `2"}}`
	if r := c.run(inc); number(r.Get("code")) != 91 && number(at(r, "writeErrors.0.code")) != 91 {
		t.Errorf("before the commit: %v", r)
	}
	if r := c.ok(inc); number(r.Get("nModified")) != 1 || !r.Get("retriedStmtIds").IsMissing() {
		t.Errorf("repeated after it failed: %v", r)
	}
	if r := c.ok(`{find: "c"}`); number(at(r, "cursor.firstBatch.0.n")) != 2 {
		t.Errorf("two writes: %v", r)
	}
	set(`"alwaysOn"`, ``)
	c.ok(`{update: "c", updates: [{q: {_id: 0}, u: {$inc: {n: 1}}}]}`) // not a retryable write
	for _, data := range []string{`closeConnection: 1`, `failBeforeCommitExceptionCode: "a"`, `x: 1`} {
		if got := c.code(`{configureFailPoint: "onPrimaryTransactionalWrite", mode: "off", data: {` + data + `}, $db: "admin"}`); got != 14 && got != 2 {
			t.Errorf("%s: %d", data, got)
		}
	}
}

// TestFailTimeLimit: commands with maxTimeMS fail, and no others.
func TestFailTimeLimit(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{configureFailPoint: "maxTimeAlwaysTimeOut", mode: "alwaysOn", $db: "admin"}`)
	if a, b := c.code(`{find: "c", maxTimeMS: 1000000}`), c.code(`{find: "c"}`); a != 50 || b != 0 {
		t.Errorf("with and without maxTimeMS: %d, %d", a, b)
	}
}

// TestNoTimeLimit checks that maxTimeMS has no effect while the fail point maxTimeNeverTimeOut is on.
func TestNoTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWorld(t, nil).dial()
		slow := `{find: "c", maxTimeMS: 20}`
		c.ok(`{configureFailPoint: "failCommand", mode: "alwaysOn", data: {failCommands: ["find"], blockConnection: true, blockTimeMS: 50}, $db: "admin"}`)
		c.ok(`{configureFailPoint: "maxTimeNeverTimeOut", mode: "alwaysOn", $db: "admin"}`)
		c.ok(slow)
		c.ok(`{configureFailPoint: "maxTimeNeverTimeOut", mode: "off", $db: "admin"}`)
		if code := c.code(slow); code != 50 {
			t.Errorf("with the limit: %d", code)
		}
	})
}

// TestFailCommandOf checks fail points that apply to one connection, to all commands, and to the handshake.
func TestFailCommandOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		c, other := w.dial(), w.dial()
		set := func(data string) {
			t.Helper()
			c.ok(`{configureFailPoint: "failCommand", mode: "alwaysOn", data: {` + data + `}, $db: "admin"}`)
		}
		set(fmt.Sprintf(`failCommands: ["ping"], errorCode: 1, threadName: "conn%d"`, other.ID()))
		if a, b := c.code(`{ping: 1}`), other.code(`{ping: 1}`); a != 0 || b != 1 {
			t.Errorf("of a connection: %d, %d", a, b)
		}
		set(`failCommands: ["ping"], errorCode: 1, errmsg: "so there"`)
		if r := other.run(`{ping: 1}`); r.Get("errmsg").String() != `"so there"` {
			t.Errorf("with a text: %v", r)
		}
		set(`failAllCommands: true, errorCode: 1`)
		if a, b := c.code(`{ping: 1}`), c.code(`{hello: 1}`); a != 1 || b != 1 {
			t.Errorf("all commands: %d, %d", a, b)
		}
		set(`failCommands: ["hello"], blockConnection: true, blockTimeMS: 20`)
		begin := time.Now()
		if w.dial().ok(`{hello: 1}`); time.Since(begin) != 20*time.Millisecond {
			t.Errorf("a handshake after %v", time.Since(begin))
		}
	})
}

// The fail point parkCursors parks a cursor after each batch. The cursor then continues at its position.
func TestParkCursors(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}, {_id: 2}, {_id: 3}, {_id: 4}]}`)
	for _, mode := range []string{`"alwaysOn"`, `"off"`} {
		c.ok(`{configureFailPoint: "parkCursors", mode: ` + mode + `, $db: "admin"}`)
		before := w.Cursors.Stats().Parked
		id := number(at(c.ok(`{find: "c", sort: {_id: 1}, batchSize: 1}`), "cursor.id"))
		for i := range 3 {
			if got := at(c.ok(fmt.Sprintf(`{getMore: NumberLong("%d"), collection: "c", batchSize: 1}`, id)), "cursor.nextBatch.0._id"); number(got) != int64(i+2) {
				t.Errorf("document %v after %d", got, i+1)
			}
		}
		if n := w.Cursors.Stats().Parked - before; (n > 0) != (mode == `"alwaysOn"`) {
			t.Errorf("mode %s: %d times parked", mode, n)
		}
	}
}

// The fail point noMetering makes commands free of charge.
func TestNoMetering(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	spent := func() int64 {
		return number(at(c.ok(`{customAction: "GetPartitions", collection: "c"}`), "partitions.0.ruTotal"))
	}
	all := []string{`{find: "c", filter: {_id: 1}}`, `{aggregate: "c", pipeline: [{$group: {_id: 1, n: {$sum: 1}}}], cursor: {}}`, `{count: "c", query: {_id: 1}}`,
		`{update: "c", updates: [{q: {_id: 1}, u: {$inc: {n: 1}}}]}`, `{insert: "c", documents: [{a: 1}]}`,
		`{aggregate: "c", pipeline: [{$lookup: {from: "c", localField: "_id", foreignField: "_id", as: "x"}}], cursor: {}}`}
	c.ok(`{configureFailPoint: "noMetering", mode: "alwaysOn", $db: "admin"}`)
	before := spent()
	for _, command := range all {
		c.ok(command)
	}
	if n := spent(); n != before {
		t.Errorf("charged %d without metering", n-before)
	}
	c.ok(`{configureFailPoint: "noMetering", mode: "off", $db: "admin"}`)
	for _, command := range all {
		c.ok(command)
	}
	if n := spent(); n <= before {
		t.Errorf("charged %d with metering", n-before)
	}
}
