package rooms

import (
	"testing"
	"time"

	"github.com/cantledb/cantle/storage/memkv"
)

// TestParameters checks the types and bounds of server parameters, and that several parameters in one command are
// set together or not at all.
func TestParameters(t *testing.T) {
	c := newWorld(t, nil).dial()
	for _, x := range []struct {
		cmd  string
		want int64
	}{
		{`{setParameter: 1, logLevel: 2.7, quiet: "yes", $db: "admin"}`, 0},
		{`{setParameter: 1, logLevel: 1, noSuch: 1, $db: "admin"}`, 72},
		{`{setParameter: 1, $db: "admin"}`, 72},
		{`{setParameter: 1, maxBSONDepth: 1, $db: "admin"}`, 72},
		{`{setParameter: 1, featureCompatibilityVersion: "7.0", $db: "admin"}`, 20},
		{`{setParameter: 1, logLevel: "1", $db: "admin"}`, 2},
		{`{setParameter: 1, transactionLifetimeLimitSeconds: 0, $db: "admin"}`, 2},
		{`{setParameter: 1, automationServiceDescriptor: 1, $db: "admin"}`, 14},
		{`{setParameter: 1, logComponentVerbosity: {network: {asio: 3}, command: {verbosity: 4}}, $db: "admin"}`, 0},
		{`{setParameter: 1, logComponentVerbosity: {command: 1, nothing: 1}, $db: "admin"}`, 2},
		{`{getParameter: 1, $db: "admin"}`, 72},
		{`{getParameter: {showDetails: "yes"}, logLevel: 1, $db: "admin"}`, 14},
		{`{getParameter: {bogus: 1}, logLevel: 1, $db: "admin"}`, 40415},
		{`{getParameter: 1, logLevel: 1}`, 13},
	} {
		if got := c.code(x.cmd); got != x.want {
			t.Errorf("%s: %d, want %d", x.cmd, got, x.want)
		}
	}
	r := c.ok(`{getParameter: "*", $db: "admin"}`)
	if number(r.Get("logLevel")) != 2 || !r.Get("quiet").Truthy() || text(at(r, "featureCompatibilityVersion.version")) != "8.0" {
		t.Errorf("all parameters: %v", r)
	}
	for path, want := range map[string]int64{"verbosity": 2, "network.asio.verbosity": 3, "network.bridge.verbosity": -1, "command.verbosity": 4, "write.verbosity": -1} {
		if got := number(at(r, "logComponentVerbosity."+path)); got != want {
			t.Errorf("logComponentVerbosity.%s: %d, want %d", path, got, want)
		}
	}
	r = c.ok(`{getParameter: {showDetails: true}, maxBSONDepth: 1, $db: "admin"}`)
	if number(at(r, "maxBSONDepth.value")) != 200 || at(r, "maxBSONDepth.settableAtRuntime").Truthy() || !at(r, "maxBSONDepth.settableAtStartup").Truthy() {
		t.Errorf("details: %v", r)
	}
	if r := c.ok(`{setParameter: 1, logLevel: 0, $db: "admin"}`); number(r.Get("was")) != 2 {
		t.Errorf("was: %v", r)
	}
}

// TestSavedSettings checks that cluster parameters, query settings and default concerns survive a restart of the
// server. The saved defaultMaxTimeMS limits a count, but no explain, no mapReduce and no aggregate with $out.
func TestSavedSettings(t *testing.T) {
	store := memkv.Open(memkv.Options{})
	defer store.Close()
	c := newWorld(t, store).dial()
	c.ok(`{setClusterParameter: {defaultMaxTimeMS: {readOperations: 7}}, $db: "admin"}`)
	c.ok(`{setDefaultRWConcern: 1, defaultReadConcern: {level: "majority"}, defaultWriteConcern: {w: 1}, $db: "admin"}`)
	c.ok(`{setQuerySettings: {find: "q", filter: {a: 1}, $db: "test"}, settings: {reject: true}, $db: "admin"}`)
	w := newWorld(t, store)
	c = w.dial()
	if got := c.code(`{find: "q", filter: {a: 2}, maxTimeMS: 60000, $db: "test"}`); got != 411 {
		t.Errorf("query settings: %d", got)
	}
	if r := c.ok(`{getClusterParameter: "defaultMaxTimeMS", $db: "admin"}`); number(at(r, "clusterParameters.0.readOperations")) != 7 {
		t.Errorf("cluster parameter: %v", r)
	}
	r := c.ok(`{getDefaultRWConcern: 1, $db: "admin"}`)
	if text(at(r, "defaultReadConcern.level")) != "majority" || number(at(r, "defaultWriteConcern.w")) != 1 || text(r.Get("defaultReadConcernSource")) != "global" {
		t.Errorf("default concerns: %v", r)
	}
	c.ok(`{configureFailPoint: "failCommand", mode: {times: 1}, data: {failCommands: ["count"], blockConnection: true, blockTimeMS: 60000}, $db: "admin"}`)
	if got := c.code(`{count: "c"}`); got != 50 {
		t.Errorf("a read under defaultMaxTimeMS: %d", got)
	}
	w.JavaScript = true
	c.ok(`{configureFailPoint: "failCommand", mode: "alwaysOn", data: {failCommands: ["aggregate", "mapReduce", "explain"], blockConnection: true, blockTimeMS: 20}, $db: "admin"}`)
	for _, unlimited := range []string{
		`{aggregate: "c", pipeline: [{$out: "d"}], cursor: {}}`, `{explain: {find: "c"}}`,
		`{mapReduce: "c", map: "function() {}", reduce: "function() {}", out: {inline: 1}}`,
	} {
		if got := c.code(unlimited); got != 0 {
			t.Errorf("%s under defaultMaxTimeMS: %d", unlimited, got)
		}
	}
}

// TestExpiryParameters checks that the server parameters of the job that deletes expired documents take effect.
func TestExpiryParameters(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{setParameter: 1, ttlMonitorSleepSecs: 7, ttlMonitorEnabled: false, $db: "admin"}`)
	if every, on := w.Jobs.ExpirePeriod(), w.Jobs.Expires(); every != 7*time.Second || on {
		t.Errorf("every %v, %v", every, on)
	}
	c.ok(`{setParameter: 1, ttlMonitorEnabled: true, $db: "admin"}`)
	if !w.Jobs.Expires() {
		t.Error("it stays off")
	}
}
