package command

import (
	"errors"
	"testing"
	"time"

	"github.com/cantledb/cantle/wire"
)

// TestFailCommand: what driver tests ask of the fail point.
func TestFailCommand(t *testing.T) {
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
	if got := c.code(`{ping: 1}`); got != 0 || time.Since(begin) < 20*time.Millisecond {
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
}

// TestFailHandshake: a fail point for an application meets the hello in which that
// application says its name.
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

// TestTestVersion2: a command that only tests know is refused as every command that
// the stable API does not have.
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

// TestFailPointArguments: what is no fail point is refused.
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
