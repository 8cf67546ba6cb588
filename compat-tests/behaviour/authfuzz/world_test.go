package authfuzz

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	cbson "github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// Numbers of documents of the marked collections. No other collection has as many, so that a number in a reply
// reveals which one was counted.
const (
	vaultGold    = 2711
	mineGold     = 1709
	ownDocuments = 3 // of each collection with the name own, whose number is not secret
)

// needle is a value that must not be in a reply.
type needle struct {
	bytes []byte
	class byte
	of    string // the user that may see it; "" for none
}

// world is a server in which all data are marked.
type world struct {
	server   *harness.Server
	root     *conn
	prefix   string // the beginning of every mark; the letter after it is the mark's class
	needles  []needle
	uuids    [2][][]byte // of collections: own, of others
	cursors  []int64     // of others
	sessions [][]byte    // of others
	ops      []string    // of others
	hidden   *conn       // of another user, with a running operation
	other    *conn       // of another user, with a session
	ended    atomic.Bool // the other user's operation has ended
	stopped  atomic.Bool
	volatile map[string]bool // keys of state that change without requests
	users    map[*user]*conn
	peopled  bool // all users were made once
	gone     bool // the users of the database realm must be made again, because their administrator has dropped some
}

const (
	rootPassword = "rootpw"
	userPassword = "userpw"
	loggedNever  = "Pwhvxnqzwkjb" // the password in all requests
)

// newWorld starts a server and fills it.
func newWorld(t testing.TB, r *rand.Rand) *world {
	t.Helper()
	w := &world{users: map[*user]*conn{}, volatile: map[string]bool{}}
	var err error
	if w.server, err = harness.Launch(harness.Options{Args: []string{"--auth"}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.server.Kill)
	w.prefix = "Zq" + word(r, 9)
	if err := w.fill(r); err != nil {
		t.Fatal(err)
	}
	return w
}

// word returns a random word.
func word(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = "bcdfghjkmnpqrstvwxyz"[r.IntN(20)]
	}
	return string(b)
}

// mark returns a new mark of a class.
func (w *world) mark(class byte, r *rand.Rand) string { return w.prefix + string(class) + word(r, 5) }

// end kills the server. It does not shut it down, because a shutdown would wait for the running operations.
func (w *world) end() error {
	w.stopped.Store(true)
	defer w.server.Kill()
	for _, c := range w.users {
		_ = c.Close()
	}
	_ = w.hidden.Close()
	_ = w.other.Close()
	_ = w.root.Close()
	return w.server.Trouble()
}

// commands runs a list of commands, "db: {...}" each.
func (w *world) commands(c *conn, list ...string) error {
	for _, line := range list {
		db, cmd, _ := strings.Cut(line, ": ")
		if _, err := c.do(db, "%s", cmd); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) fill(r *rand.Rand) error {
	var err error
	if w.root, err = dial(w.server.Addr); err != nil {
		return err
	}
	if _, err := w.root.do("admin", `{createUser: "root", pwd: "%s", roles: ["root"]}`, rootPassword); err != nil {
		return err
	}
	if err := w.root.login("admin", "root", rootPassword); err != nil {
		return err
	}
	m := func(class byte) string { return w.mark(class, r) }
	if err := w.commands(w.root,
		`admin: {setParameter: 1, scramSHA256IterationCount: 5000}`,
		`admin: {setParameter: 1, transactionLifetimeLimitSeconds: 3600}`,
		`vault: {createRole: "victims", privileges: [{resource: {db: "vault", collection: "`+m(ofUsers)+`"}, actions: ["find"]}], roles: []}`,
		`vault: {createUser: "victim", pwd: "x", customData: {a: "`+m(ofUsers)+`"}, roles: ["read", "victims"]}`,
		`mine: {createUser: "other", pwd: "x", customData: {a: "`+m(ofUsers)+`"}, roles: ["read"]}`,
		`admin: {createUser: "hidden", pwd: "x", customData: {a: "`+m(ofUsers)+`"}, roles: ["root"]}`,
		`admin: {createRole: "`+m(ofUsers)+`", privileges: [], roles: []}`,
	); err != nil {
		return err
	}
	if err := w.makeUsers(); err != nil {
		return err
	}
	if err := errors.Join(w.insert("vault", "gold", inVault, vaultGold, r), w.insert("vault", "own", inVault, ownDocuments, r), w.insert("vault", "system.js", inVault, 2, r),
		w.insert("vault", "parts", inVault, 40, r), w.insert(m(ofVault), m(ofVault), inVault, 1, r), w.insert("realm", "own", 0, ownDocuments, r), w.makeMine(r)); err != nil {
		return err
	}
	if err := w.commands(w.root,
		`vault: {create: "`+m(ofVault)+`", validator: {x: {$ne: "`+m(ofVault)+`"}}}`,
		`vault: {create: "ruled", validator: {x: {$ne: "`+m(ofVault)+`"}}}`,
		`vault: {createIndexes: "gold", indexes: [{key: {x: 1}, name: "`+m(ofVault)+`", partialFilterExpression: {x: "`+m(ofVault)+`"}}]}`,
		`vault: {create: "view", viewOn: "gold", pipeline: [{$addFields: {v: "`+m(ofVault)+`"}}]}`,
		`vault: {createIndexes: "gold", indexes: [{key: {s: 1}, name: "s_1"}, {key: {k: 1}, name: "k_1"}]}`,
		`vault: {planCacheSetFilter: "gold", query: {s: "`+m(ofVault)+`"}, indexes: [{s: 1}]}`,
		`admin: {setQuerySettings: {find: "gold", filter: {`+m(ofServer)+`: 1}, $db: "vault"}, settings: {queryFramework: "classic"}}`,
		`admin: {shardCollection: "vault.parts", key: {s: 1}}`,
		`vault: {profile: 2}`,
		`vault: {find: "own", filter: {s: "`+m(inProfile)+`"}}`,
		`vault: {profile: 0}`,
		`admin: {setParameter: 1, logLevel: 0}`,
	); err != nil {
		return err
	}
	if err := w.secrets(); err != nil {
		return err
	}
	if err := w.busy(r); err != nil {
		return err
	}
	first, err := w.state()
	if err != nil {
		return err
	}
	second, err := w.state()
	if err != nil {
		return err
	}
	for key := range first.keys(second) {
		if first[key] != second[key] {
			w.volatile[key] = true
		}
	}
	return nil
}

// insert inserts n documents into a collection. If class is not 0, each document contains a mark of that class.
func (w *world) insert(db, coll string, class byte, n int, r *rand.Rand) error {
	var docs strings.Builder
	for i := range n {
		if coll == "system.js" {
			fmt.Fprintf(&docs, `{_id: "f%d", value: {$code: "function() { return '%s' }"}}, `, i, w.mark(class, r))
			continue
		}
		if class == 0 {
			fmt.Fprintf(&docs, `{_id: %d, x: %d, k: %d}, `, i, i, i%7)
			continue
		}
		fmt.Fprintf(&docs, `{_id: %d, x: %d, k: %d, s: "%s", loc: [0, 0]}, `, i, i, i%7, w.mark(class, r))
	}
	_, err := w.root.do(db, `{insert: "%s", documents: [%s]}`, coll, strings.TrimSuffix(docs.String(), ", "))
	return err
}

// makeMine recreates the databases that users may change.
func (w *world) makeMine(r *rand.Rand) error {
	m := func() string { return w.mark(ofMine, r) }
	err := w.commands(w.root, `mine: {dropDatabase: 1}`, `realm: {dropDatabase: 1}`, `mine: {profile: 0, slowms: 0, sampleRate: 1.0, filter: "unset"}`, `realm: {profile: 0}`)
	err = errors.Join(err, w.insert("mine", "own", 0, ownDocuments, r), w.insert("mine", "gold", inGold, mineGold, r), w.insert("realm", "own", 0, ownDocuments, r))
	if err != nil {
		return err
	}
	if err := w.commands(w.root,
		`mine: {create: "ownview", viewOn: "own", pipeline: []}`,
		`mine: {create: "view", viewOn: "gold", pipeline: [{$addFields: {v: "`+m()+`"}}]}`,
		`mine: {create: "`+m()+`"}`,
		`mine: {create: "ruled", validator: {x: {$ne: "`+m()+`"}}}`,
		`mine: {createIndexes: "gold", indexes: [{key: {x: 1}, name: "`+m()+`", partialFilterExpression: {x: "`+m()+`"}}]}`); err != nil {
		return err
	}
	w.uuids = [2][][]byte{}
	for i, db := range []string{"mine", "vault"} {
		reply, err := w.root.do(db, `{listCollections: 1}`)
		if err != nil {
			return err
		}
		for c := range batch(reply) {
			info, _ := c.Get("info").Doc()
			if _, id, ok := info.Get("uuid").Binary(); ok {
				whose := 1
				if name, _ := c.Get("name").Str(); i == 0 && name == "own" {
					whose = 0
				}
				w.uuids[whose] = append(w.uuids[whose], bytes.Clone(id))
			}
		}
	}
	return nil
}

// makeUsers recreates the users that send requests.
func (w *world) makeUsers() error {
	err := w.commands(w.root, `realm: {dropAllUsersFromDatabase: 1}`, `realm: {dropAllRolesFromDatabase: 1}`,
		`realm: {createRole: "pals", privileges: [], roles: []}`, `realm: {createUser: "pal", pwd: "x", roles: []}`)
	if err != nil {
		return err
	}
	for _, u := range users {
		if w.peopled && u.db != "realm" {
			continue
		}
		w.leave(u)
		w.gone = false
		roles := u.roles
		if u.privileges != "" {
			role := "narrow" + u.name
			if _, err := w.root.do(u.db, `{createRole: "%s", privileges: [%s], roles: []}`, role, u.privileges); err != nil {
				return err
			}
			roles = `"` + role + `"`
		}
		if _, err := w.root.do(u.db, `{createUser: "%s", pwd: "%s", roles: [%s]}`, u.name, userPassword, roles); err != nil {
			return err
		}
		if _, err := w.as(u); err != nil {
			return err
		}
	}
	w.peopled = true
	return nil
}

// as returns a connection of a user.
func (w *world) as(u *user) (*conn, error) {
	if c := w.users[u]; c != nil {
		return c, nil
	}
	if w.gone && u.db == "realm" {
		return nil, errors.New("the administrator of realm may have changed its own password")
	}
	c, err := dial(w.server.Addr)
	if err != nil {
		return nil, err
	}
	if err := c.login(u.db, u.name, userPassword); err != nil {
		return nil, err
	}
	w.users[u] = c
	return c, nil
}

// leave closes a user's connection.
func (w *world) leave(u *user) {
	if c := w.users[u]; c != nil {
		_ = c.Close()
		delete(w.users, u)
		w.gone = w.gone || u.db == "realm"
	}
}

// secrets adds needles for the traces of passwords.
func (w *world) secrets() error {
	reply, err := w.root.do("admin", `{find: "system.users"}`)
	if err != nil {
		return err
	}
	for d := range batch(reply) {
		if db, _ := d.Get("db").Str(); db == "realm" {
			continue
		}
		of, _ := d.Get("_id").Str()
		visit(d.Value(), func(name string, v cbson.Value) {
			if s, ok := v.Str(); ok && (name == "salt" || name == "storedKey" || name == "serverKey") {
				w.needles = append(w.needles, needle{[]byte(s), ofSecrets, of})
			}
		})
	}
	if len(w.needles) < 30 {
		return fmt.Errorf("admin.system.users shows %d secrets", len(w.needles))
	}
	return nil
}

// unnamed is the index, among the sessions of the other user, of the one whose id no request contains: a reply with
// that id reveals the session.
const unnamed = 2

// busy gives another user a running operation, a cursor, a session and a transaction, which the tested users must not
// see.
func (w *world) busy(r *rand.Rand) (err error) {
	if w.hidden, err = dial(w.server.Addr); err != nil {
		return err
	}
	if err = w.hidden.login("admin", "hidden", "x"); err != nil {
		return err
	}
	for range 3 {
		id := make([]byte, 16)
		binary.LittleEndian.PutUint64(id, r.Uint64())
		binary.LittleEndian.PutUint64(id[8:], r.Uint64())
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		w.sessions = append(w.sessions, id)
	}
	session := func(i int) string { return ejson.ValueString(valueOf(uuidNode(w.sessions[i]))) }
	w.needles = append(w.needles, needle{w.sessions[unnamed], ofActivity, ""})
	cursor := func(cmd string, args ...any) error {
		reply, err := w.hidden.do("vault", cmd, args...)
		if err != nil {
			return err
		}
		c, _ := reply.Get("cursor").Doc()
		id, _ := c.Get("id").AsInt64()
		w.cursors = append(w.cursors, id)
		w.needles = append(w.needles, needle{binary.LittleEndian.AppendUint64(nil, uint64(id)), ofActivity, ""})
		return nil
	}
	if err := errors.Join(
		cursor(`{find: "gold", batchSize: 1, noCursorTimeout: true, comment: "%s", lsid: {id: %s}}`, w.mark(ofActivity, r), session(0)),
		cursor(`{find: "gold", batchSize: 1, noCursorTimeout: true, comment: "%s", lsid: {id: %s}}`, w.mark(ofActivity, r), session(unnamed)),
		cursor(`{aggregate: "ruled", pipeline: [{$changeStream: {}}], cursor: {}, comment: "%s"}`, w.mark(ofActivity, r))); err != nil {
		return err
	}
	if w.other, err = dial(w.server.Addr); err != nil {
		return err
	}
	if err = w.other.login("mine", "other", "x"); err != nil {
		return err
	}
	if _, err = w.other.do("mine", `{find: "own", lsid: {id: %s}}`, session(unnamed)); err != nil {
		return err
	}
	if _, err := w.hidden.do("vault", `{update: "parts", updates: [{q: {_id: 1}, u: {$set: {x: 5}}}], lsid: {id: %s}, txnNumber: {$numberLong: "1"}, autocommit: false, startTransaction: true, comment: "%s"}`,
		session(1), w.mark(ofActivity, r)); err != nil {
		return err
	}
	runs := mustParse(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "ruled", maxTimeMS: 3600000, comment: "%s", $db: "vault"}`, w.cursors[2], w.mark(ofActivity, r)))
	go func() {
		_, _ = w.hidden.exchange(&request{body: runs}, 2*time.Hour)
		w.ended.Store(!w.stopped.Load())
	}()
	for range 100 {
		reply, err := w.root.do("admin", `{currentOp: 1, "command.getMore": {$exists: true}}`)
		if err != nil {
			return err
		}
		ops, _ := reply.Get("inprog").Array()
		for v := range ops.Values() {
			d, _ := v.Doc()
			w.ops = append(w.ops, ejson.ValueString(d.Get("opid")))
		}
		if len(w.ops) > 0 {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("the operation of somebody else does not run")
}

// valueOf encodes a leaf.
func valueOf(n *node) cbson.Value { return cbson.Value{Type: cbson.Type(n.typ), Data: n.append(nil)} }

// batch visits the documents of a cursor's first batch.
func batch(reply cbson.Raw) func(func(cbson.Raw) bool) {
	return func(yield func(cbson.Raw) bool) {
		c, _ := reply.Get("cursor").Doc()
		list, _ := c.Get("firstBatch").Array()
		for v := range list.Values() {
			if d, ok := v.Doc(); ok && !yield(d) {
				return
			}
		}
	}
}

// visit calls f for every leaf of a value.
func visit(v cbson.Value, f func(name string, v cbson.Value)) { visitNamed("", v, f) }

func visitNamed(name string, v cbson.Value, f func(string, cbson.Value)) {
	var d cbson.Raw
	if sub, ok := v.Doc(); ok {
		d = sub
	} else if sub, ok := v.Array(); ok {
		d = sub
	} else {
		f(name, v)
		return
	}
	for n, v := range d.Fields() {
		visitNamed(string(n), v, f)
	}
}
