package rooms

import (
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/wire/command"
)

// TestTable checks that the rows of commands are in alphabetical order, that each has a function and a reference to
// its documentation, and that no name or alias means two commands.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	last := ""
	for _, d := range Commands() {
		if d.Name <= last {
			t.Errorf("%s stands after %s", d.Name, last)
		}
		last = d.Name
		if (d.Run == nil) == (d.Parse == nil) || d.Doc == "" {
			t.Errorf("%s lacks Run or Parse, has both, or lacks Doc", d.Name)
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
	}
}

// TestFacts: the facts of a row are consistent.
func TestFacts(t *testing.T) {
	imply := func(d *command.Def, has bool, wants bool, text string) {
		if has && !wants {
			t.Errorf("%s: %s", d.Name, text)
		}
	}
	commands := Commands()
	for i := range commands {
		d := &commands[i]
		writes := d.Kind == command.KindWrite
		imply(d, writes, d.Facts.Has(command.Writes) && d.Facts.Has(command.Retryable) && d.Facts.Has(command.InTxn), "what writes documents takes a write concern, is retryable and runs in transactions")
		imply(d, d.Facts.Has(command.Retryable), writes, "what is retryable writes documents")
		imply(d, d.Statements != "", writes, "statements are writes")
		imply(d, d.Op != command.OpCommand, d.Kind == command.KindRead || writes, "a basic operation reads or writes documents")
		imply(d, d.Outputs != nil, d.Kind == command.KindRead && !d.Facts.Has(command.Writes), "what may write what it finds is a read")
		imply(d, d.Facts.Has(command.Limited), d.ReadConcern != command.OnlyLocal, "what has the time limit of reads takes a read concern")
		imply(d, d.Facts.Has(command.OwnConcern), d.Facts.Has(command.Writes), "what has its own write concern takes one")
		imply(d, d.Facts.Has(command.NotFirst), d.Facts.Has(command.InTxn), "what cannot begin a transaction may be in one")
		imply(d, d.ReadConcern != command.OnlyLocal, !d.Facts.Has(command.Writes), "what takes a read concern does not write")
		imply(d, d.Facts.Has(command.Sampled), d.Query != nil && d.Namespace == command.FirstField, "a sample has a query and a collection")
		imply(d, d.Facts.Has(command.Settable), d.Explain != nil && d.Query != nil, "a query with settings has a shape, which Explain reads")
		imply(d, d.Kind == command.KindTxn, d.Facts.Has(command.InTxn), "what ends a transaction runs in it")
	}
}

// TestDescribing checks that the commands that describe the server succeed, and that they refuse unknown arguments
// if MongoDB does.
func TestDescribing(t *testing.T) {
	c := newWorld(t, nil).dial()
	for cmd, want := range map[string]int64{
		`{ping: 1}`:           0,
		`{ping: 1, x: 1}`:     40415,
		`{Ping: 1}`:           59,
		`{buildInfo: 1}`:      0,
		`{buildinfo: 1}`:      0,
		`{hostInfo: 1, x: 1}`: 40415,
		`{connectionStatus: 1, showPrivileges: "x"}`: 14,
		`{whatsmyuri: 1, x: 1}`:                      0,
		`{getLog: "*", $db: "admin"}`:                0,
		`{getLog: "rs", $db: "admin"}`:               96,
		`{getLog: 1, $db: "admin"}`:                  14,
		`{getLog: null, $db: "admin"}`:               40414,
		`{getCmdLineOpts: 1}`:                        13,
		`{listCommands: 1, x: 1}`:                    0,
		`{top: 1}`:                                   13,
		`{serverStatus: 1}`:                          0,
		`{replSetGetStatus: 1, $db: "admin"}`:        76,
		`{getLastError: 1}`:                          5739000,
		`{logout: 1}`:                                0,
		`{features: 1}`:                              0,
		`{isdbgrid: 1}`:                              0,
		`{dropConnections: 1, hostAndPort: ["a:1"], $db: "admin"}`: 0,
		`{dropConnections: 1, hostAndPort: ["a:0"], $db: "admin"}`: 9,
		`{profile: 0, sampleRate: 2}`:                              2,
		`{profile: 0, filter: 1}`:                                  2,
	} {
		if got := c.code(cmd); got != want {
			t.Errorf("%s: %d, want %d", cmd, got, want)
		}
	}
	r := c.ok(`{buildInfo: 1}`)
	if text(r.Get("version")) != release.Default.Version() || number(at(r, "versionArray.0")) != 8 || !at(r, "versionArray.4").IsMissing() {
		t.Errorf("buildInfo: %v", r)
	}
	if r := c.ok(`{whatsmyuri: 1}`); text(r.Get("you")) != c.Remote().String() {
		t.Errorf("whatsmyuri: %v", r)
	}
}

// TestCounters: serverStatus counts operations, and can omit sections.
func TestCounters(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{insert: "c", documents: [{_id: 1}, {_id: 2}]}`)
	c.ok(`{find: "c"}`)
	c.run(`{noSuch: 1}`)
	c.run(`{find: 1}`)
	r := c.ok(`{serverStatus: 1, locks: 0}`)
	for path, want := range map[string]int64{
		"opcounters.insert": 2, "opcounters.query": 1, "metrics.commands.find.total": 2, "metrics.commands.find.failed": 1,
		"metrics.commands.<UNKNOWN>": 1, "connections.current": 1, "catalogStats.collections": 1, "network.numRequests": 5,
	} {
		if got := number(at(r, path)); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if !r.Get("locks").IsMissing() || r.Get("uptime").Type.String() != "double" {
		t.Errorf("serverStatus: %v", r)
	}
	top := c.ok(`{top: 1, $db: "admin"}`)
	totals, _ := top.Get("totals").Doc()
	ns, _ := totals.Get("test.c").Doc()
	if number(at(ns, "insert.count")) != 1 || number(at(ns, "queries.count")) != 1 || number(at(ns, "total.count")) < 2 {
		t.Errorf("top: %v", top)
	}
}

// TestLastRequestStatistics checks that getLastRequestStatistics returns the charge of the last charged command of the
// session, or, if it is sent without one, of the connection.
func TestLastRequestStatistics(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	r := c.ok(`{getLastRequestStatistics: 1}`)
	price, _ := r.Get("RequestCharge").Double()
	if text(r.Get("CommandName")) != "insert" || price < 5 || !r.Get("_t").IsMissing() {
		t.Errorf("after an insert: %v", r)
	}
	for name, want := range map[string]bson.Type{"RequestDurationInMilliSeconds": bson.TypeInt64, "EstimatedDelayFromRateLimitingInMilliseconds": bson.TypeInt64,
		"RetriedDueToRateLimiting": bson.TypeBool, "ActivityId": bson.TypeString} {
		if got := r.Get(name).Type; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if id := text(r.Get("ActivityId")); len(id) != 36 || id != text(c.ok(`{getLastRequestStatistics: 1}`).Get("ActivityId")) {
		t.Errorf("ActivityId %q", id)
	}
	c.ok(`{find: "c", ` + lsid + `}`)
	c.ok(`{ping: 1}`)
	if r := w.dial().ok(`{getLastRequestStatistics: 1, ` + lsid + `}`); text(r.Get("CommandName")) != "find" {
		t.Errorf("of the session, on another connection: %v", r)
	}
	if r := c.ok(`{getLastRequestStatistics: 1}`); text(r.Get("CommandName")) != "insert" {
		t.Errorf("of the connection: %v", r)
	}
}

// TestDBHash: equal documents give equal hashes in any order.
func TestDBHash(t *testing.T) {
	c := newWorld(t, nil).dial()
	c.ok(`{insert: "a", documents: [{_id: 1}, {_id: 2}]}`)
	c.ok(`{insert: "b", documents: [{_id: 2}]}`)
	r := c.ok(`{dbHash: 1}`)
	if text(at(r, "collections.a")) == text(at(r, "collections.b")) {
		t.Errorf("different collections: %v", r)
	}
	c.ok(`{insert: "b", documents: [{_id: 1}]}`)
	r = c.ok(`{dbHash: 1, collections: ["a", "b"]}`)
	if text(at(r, "collections.a")) != text(at(r, "collections.b")) {
		t.Errorf("equal collections: %v", r)
	}
	if got := c.code(`{dbHash: 1, collections: [1]}`); got != 2 {
		t.Errorf("a name that is none: %d", got)
	}
}
