package rooms

import (
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/command"
)

// TestParseReplicaSet: the allowed values of --replica-set.
func TestParseReplicaSet(t *testing.T) {
	for text, want := range map[string]command.ReplicaSet{
		"": {}, "rs0": {Name: "rs0"}, "rs0/db.example:27017": {Name: "rs0", Member: "db.example:27017"}, "a/[::1]:1": {Name: "a", Member: "[::1]:1"},
		"rs0/a:1,b:2,c:3": {Name: "rs0", Member: "a:1", Others: []string{"b:2", "c:3"}},
	} {
		if got, err := command.ParseReplicaSet(text); err != nil || got.Name != want.Name || got.Member != want.Member || !slices.Equal(got.Others, want.Others) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"/", "/host:1", "rs0/", "rs0/host", "rs0/:1", "rs0/host:", "a,b", "a&b", "rs0/a:1,", "rs0/a:1,b", "rs0/a:1,a:1"} {
		if got, err := command.ParseReplicaSet(text); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}

// TestReplicaSet checks the replies of a server that appears as a replica set with one member, and which fields they
// do not contain then.
func TestReplicaSet(t *testing.T) {
	w := newWorld(t, nil)
	w.ReplicaSet = command.ReplicaSet{Name: "rs0"}
	c := w.dial()
	me := c.Local().String()
	r := c.ok(`{hello: 1}`)
	for path, want := range map[string]string{"setName": "rs0", "hosts.0": me, "primary": me, "me": me} {
		if got := text(at(r, path)); got != want {
			t.Errorf("hello.%s: %q, want %q", path, got, want)
		}
	}
	if !r.Get("msg").IsMissing() || !at(r, "hosts.1").IsMissing() || !r.Get("isWritablePrimary").Truthy() || r.Get("secondary").Truthy() ||
		number(r.Get("setVersion")) != 1 || r.Get("electionId").IsMissing() || !at(r, "tags.region").IsMissing() {
		t.Errorf("hello: %v", r)
	}
	r = c.ok(`{replSetGetStatus: 1, $db: "admin"}`)
	if text(r.Get("set")) != "rs0" || number(r.Get("myState")) != 1 || text(at(r, "members.0.stateStr")) != "PRIMARY" || text(at(r, "members.0.name")) != me {
		t.Errorf("status: %v", r)
	}
	r = c.ok(`{replSetGetConfig: 1, $db: "admin"}`)
	if text(at(r, "config._id")) != "rs0" || text(at(r, "config.members.0.host")) != me {
		t.Errorf("config: %v", r)
	}
	kept := c.ok(`{find: "system.replset", $db: "local"}`)
	if text(at(kept, "cursor.firstBatch.0._id")) != "rs0" {
		t.Errorf("local.system.replset: %v", kept)
	}
	config, _ := r.Get("config").Doc()
	for cmd, want := range map[string]int64{
		`{replSetInitiate: {}, $db: "admin"}`:                                                         23,
		`{replSetReconfig: ` + config.String() + `, $db: "admin"}`:                                    0,
		`{replSetReconfig: {_id: "rs0", members: [{_id: 0, host: "a:1"}]}, $db: "admin"}`:             103,
		`{replSetReconfig: {_id: "rs1", members: []}, $db: "admin"}`:                                  103,
		`{replSetReconfig: 1, $db: "admin"}`:                                                          14,
		`{replSetStepDown: 60, $db: "admin"}`:                                                         262,
		`{replSetStepUp: 1, $db: "admin"}`:                                                            0,
		`{isdbgrid: 1}`:                                                                               59,
		`{aggregate: 1, pipeline: [{$currentOp: {targetAllNodes: true}}], cursor: {}, $db: "admin"}`:  9,
		`{aggregate: 1, pipeline: [{$currentOp: {targetAllNodes: false}}], cursor: {}, $db: "admin"}`: 0,
	} {
		if got := c.code(cmd); got != want {
			t.Errorf("%s: %d, want %d", cmd, got, want)
		}
	}
	r = c.ok(`{serverStatus: 1}`)
	if text(r.Get("process")) != "mongod" || text(at(r, "repl.setName")) != "rs0" || text(at(r, "repl.primary")) != me {
		t.Errorf("serverStatus: %v", r)
	}
	r = c.ok(`{insert: "c", documents: [{_id: 1}], writeConcern: {w: 2}}`)
	if number(at(r, "writeConcernError.code")) != 100 {
		t.Errorf("w: 2 on one member: %v", r)
	}
	r = c.run(`{findAndModify: "c", query: {_id: 1}, update: {$inc: {_id: 1}}, writeConcern: {w: 2}}`)
	if number(r.Get("code")) != 66 || number(at(r, "writeConcernError.code")) != 100 {
		t.Errorf("an error and w: 2 on one member: %v", r)
	}
	r = c.ok(`{find: "c", lsid: {id: {$binary: {base64: "AAAAAAAAAAAAAAAAAAAAAQ==", subType: "04"}}}, txnNumber: {$numberLong: "1"}, startTransaction: true, autocommit: false}`)
	if !r.Get("recoveryToken").IsMissing() {
		t.Errorf("a transaction of a replica set: %v", r)
	}
	if names := c.ok(`{listCollections: 1, nameOnly: true, $db: "config"}`); strings.Contains(names.String(), "chunks") {
		t.Errorf("config of a replica set: %v", names)
	}
	if got := w.dialAs(command.TagCosmos).code(`{replSetGetStatus: 1, $db: "admin"}`); got != 115 {
		t.Errorf("replSetGetStatus on the Cosmos address: %d", got)
	}
}

// TestReplicaSetMember: clients receive the address of the flag.
func TestReplicaSetMember(t *testing.T) {
	w := newWorld(t, nil)
	w.ReplicaSet = command.ReplicaSet{Name: "rs0", Member: "db.example:27017"}
	r := w.dial().ok(`{hello: 1}`)
	if text(r.Get("me")) != "db.example:27017" || text(at(r, "hosts.0")) != "db.example:27017" {
		t.Errorf("hello: %v", r)
	}
}

// TestOplogFromATime checks that a read of the oplog starts at the time in its filter, and that the last entries are
// found whatever came before them.
func TestOplogFromATime(t *testing.T) {
	w := newWorld(t, nil)
	c := w.dial()
	c.ok(`{insert: "c", documents: [{_id: 1}]}`)
	c.ok(`{insert: "c", documents: [{_id: 2}]}`)
	middle := c.ok(`{insert: "c", documents: [{_id: 3}]}`).Get("operationTime")
	c.ok(`{insert: "c", documents: [{_id: 4}]}`)
	c.ok(`{insert: "d", documents: [{_id: 5}]}`)
	ids := func(find string) (out string) {
		t.Helper()
		r := c.ok(strings.Replace(find, "MIDDLE", bson.Raw(oneField(middle)).Get("x").String(), 1))
		list, _ := at(r, "cursor.firstBatch").Array()
		for v := range list.Values() {
			d, _ := v.Doc()
			out += at(d, "o._id").String() + " "
		}
		return out
	}
	for find, want := range map[string]string{
		`{find: "oplog.rs", filter: {op: "i"}, $db: "local"}`:                                                                 "1 2 3 4 5 ",
		`{find: "oplog.rs", filter: {op: "i", ts: {$gt: MIDDLE}}, $db: "local"}`:                                              "4 5 ",
		`{find: "oplog.rs", filter: {$and: [{ts: {$gte: MIDDLE}}, {op: "i"}]}, oplogReplay: true, $db: "local"}`:              "3 4 5 ",
		`{find: "oplog.rs", filter: {op: "i", ts: MIDDLE}, $db: "local"}`:                                                     "3 ",
		`{find: "oplog.rs", filter: {op: "i"}, sort: {$natural: -1}, limit: 2, $db: "local"}`:                                 "5 4 ",
		`{find: "oplog.rs", filter: {op: "i"}, sort: {$natural: -1}, skip: 1, limit: 9, $db: "local"}`:                        "4 3 2 1 ",
		`{find: "oplog.rs", filter: {op: "i", ns: "test.c"}, sort: {$natural: -1}, limit: 1, $db: "local"}`:                   "4 ",
		`{find: "oplog.rs", filter: {op: "i", ts: {$gt: MIDDLE}}, tailable: true, awaitData: true, $db: "local"}`:             "4 5 ",
		`{find: "oplog.rs", filter: {ts: {$gt: {$timestamp: {t: 4294967295, i: 1}}}, op: "i"}, tailable: true, $db: "local"}`: "",
	} {
		if got := ids(find); got != want {
			t.Errorf("%s: %s, want %s", find, got, want)
		}
	}
}

func oneField(v bson.Value) bson.Raw {
	b := bson.NewBuilder(nil)
	b.Value("x", v)
	return b.Doc()
}
