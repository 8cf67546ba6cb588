package rooms

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// dialUser returns a connection on which the existing user of the database test with a given name is logged in, without
// authentication.
func (w *world) dialUser(t *testing.T, name string) *client {
	t.Helper()
	c := w.dial()
	u := w.Auth.User(auth.Name{Name: name, DB: "test"})
	if u == nil {
		t.Fatalf("there is no user %s", name)
	}
	w.enter(c, &command.Login{Name: u.Name, ID: u.ID, Mechanism: auth.ScramSHA256, Version: math.MaxUint64}) // the next command resolves its privileges
	return c
}

// secured returns a server that requires logins, with five documents in the collection test.c, and two connections: of
// a root user, and of a user that can only read.
func secured(t *testing.T) (w *world, root, reader *client) {
	w = newWorld(t, nil)
	c := w.dial()
	c.ok(`{createUser: "root", pwd: "p", roles: [{role: "root", db: "admin"}]}`)
	c.ok(`{createUser: "reader", pwd: "p", roles: ["read"]}`)
	for i := range 5 {
		c.ok(fmt.Sprintf(`{insert: "c", documents: [{_id: %d}]}`, i))
	}
	w.RequireAuth = true
	return w, w.dialUser(t, "root"), w.dialUser(t, "reader")
}

func openCursor(t *testing.T, c *client, cmd string) int64 {
	t.Helper()
	id := number(at(c.ok(cmd), "cursor.id"))
	if id == 0 {
		t.Fatalf("%s opened no cursor", cmd)
	}
	return id
}

// TestChangesTakeEffect checks that grants, revocations and drops of users apply from the next command on, also to
// open connections and cursors.
func TestChangesTakeEffect(t *testing.T) {
	_, root, reader := secured(t)
	id := openCursor(t, reader, `{find: "c", batchSize: 1}`)
	reader.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", batchSize: 1}`, id))
	if got := reader.code(`{insert: "c", documents: [{}]}`); got != 13 {
		t.Errorf("a reader inserts: %d", got)
	}
	root.ok(`{grantRolesToUser: "reader", roles: ["readWrite"]}`)
	reader.ok(`{insert: "c", documents: [{}]}`)
	root.ok(`{updateUser: "reader", roles: []}`)
	if got := reader.code(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", batchSize: 1}`, id)); got != 13 {
		t.Errorf("getMore without the role: %d", got)
	}
	root.ok(`{createRole: "finds", privileges: [{resource: {db: "test", collection: "c"}, actions: ["find"]}], roles: []}`)
	root.ok(`{updateUser: "reader", roles: ["finds"]}`)
	reader.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c", batchSize: 1}`, id))
	root.ok(`{dropRole: "finds"}`)
	if got := reader.code(`{find: "c"}`); got != 13 {
		t.Errorf("find without the role: %d", got)
	}
	root.ok(`{dropUser: "reader"}`)
	root.ok(`{createUser: "reader", pwd: "p", roles: ["root"], $db: "admin"}`)
	root.ok(`{createUser: "reader", pwd: "p", roles: ["read"]}`)
	if got := len(at(reader.ok(`{connectionStatus: 1}`), "authInfo.authenticatedUsers").Data); got != 5 {
		t.Errorf("logged in as a user who was dropped and made anew")
	}
	if got := reader.code(`{find: "c"}`); got != 13 {
		t.Errorf("find of a dropped user: %d", got)
	}
}

// TestOthersCursorsAndSessions checks that a user can neither use nor end the cursors and sessions of another user.
func TestOthersCursorsAndSessions(t *testing.T) {
	w, root, reader := secured(t)
	id := openCursor(t, root, `{find: "c", batchSize: 1}`)
	if got := reader.code(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c"}`, id)); got != 13 {
		t.Errorf("getMore of another's cursor: %d", got)
	}
	root.ok(`{createUser: "weak", pwd: "p", roles: []}`)
	weak := w.dialUser(t, "weak")
	kill := fmt.Sprintf(`{killCursors: "c", cursors: [{$numberLong: "%d"}]}`, id)
	// The role read has the action killCursors, which permits only what each user may do: closing cursors of its own.
	for _, other := range []*client{weak, reader} {
		if got := other.code(kill); got != 13 {
			t.Errorf("killCursors of another's cursor: %d", got)
		}
	}
	own := openCursor(t, reader, `{find: "c", batchSize: 1}`)
	reader.ok(fmt.Sprintf(`{killCursors: "c", cursors: [{$numberLong: "%d"}]}`, own))
	root.ok(kill)

	const uuid = `id: {$binary: {base64: "AAECAwQFBgcICQoLDA0ODw==", subType: "04"}}`
	begin := `{insert: "c", documents: [{_id: "t"}], lsid: {` + uuid + `}, txnNumber: {$numberLong: "1"}, autocommit: false, startTransaction: true}`
	root.ok(begin)
	commit := func(uid string) string {
		return `{commitTransaction: 1, $db: "admin", lsid: {` + uuid + uid + `}, txnNumber: {$numberLong: "1"}, autocommit: false}`
	}
	if got := reader.code(commit("")); got != 251 {
		t.Errorf("a session of the same id belongs to another user: %d", got)
	}
	uid := root.state.(*command.ConnState).Owner
	if got := reader.code(commit(fmt.Sprintf(`, uid: {$binary: {base64: "%s", subType: "00"}}`, base64.StdEncoding.EncodeToString(uid[:])))); got != 13 {
		t.Errorf("another user's session by its uid: %d", got)
	}
	root.ok(commit(""))
	if got := reader.code(`{endSessions: [{` + uuid + fmt.Sprintf(`, uid: {$binary: {base64: "%s", subType: "00"}}`, base64.StdEncoding.EncodeToString(uid[:])) + `}]}`); got != 13 {
		t.Errorf("ending another user's session: %d", got)
	}
}

// TestFirstUser checks that, if there are no users, a client on the server's machine may create the first user, in
// the database admin, and do nothing else.
func TestFirstUser(t *testing.T) {
	w := newWorld(t, nil)
	w.RequireAuth = true
	far, near := w.dial(), w.dial()
	near.local = true
	const create = `{createUser: "first", pwd: "p", roles: ["root"], $db: "admin"}`
	if got := far.code(create); got != 13 {
		t.Errorf("from another machine: %d", got)
	}
	for _, cmd := range []string{`{createUser: "first", pwd: "p", roles: [{role: "root", db: "admin"}]}`, `{find: "c"}`, `{usersInfo: 1, $db: "admin"}`} {
		if got := near.code(cmd); got != 13 {
			t.Errorf("%s: %d", cmd, got)
		}
	}
	near.ok(create)
	if got := near.code(`{createUser: "second", pwd: "p", roles: ["root"], $db: "admin"}`); got != 13 {
		t.Errorf("a second user: %d", got)
	}
}

// TestViewsAreNoWayAround checks that a reader of a view needs no privileges on the collections below it, and that
// the creator of a view needs privileges to read all of them.
func TestViewsAreNoWayAround(t *testing.T) {
	w, root, _ := secured(t)
	root.ok(`{create: "v", viewOn: "c", pipeline: []}`)
	c := w.dialWith(t, []string{"test.v: find"})
	c.ok(`{find: "v"}`)
	c.ok(`{aggregate: "v", pipeline: [], cursor: {}}`)
	c.ok(`{count: "v"}`)
	if got := c.code(`{find: "c"}`); got != 13 {
		t.Errorf("what the view reads: %d", got)
	}
	maker := w.dialWith(t, []string{"test.w: createCollection", "test.w: find"})
	if got := maker.code(`{create: "w", viewOn: "c", pipeline: []}`); got != 13 {
		t.Errorf("a view on what its maker cannot read: %d", got)
	}
	maker = w.dialWith(t, []string{"test.w: createCollection", "test.w: find", "test.c: find"})
	if got := maker.code(`{create: "w", viewOn: "c", pipeline: [{$lookup: {from: "secret", pipeline: [], as: "x"}}]}`); got != 13 {
		t.Errorf("a view that joins what its maker cannot read: %d", got)
	}
	maker.ok(`{create: "w", viewOn: "c", pipeline: []}`)
	changer := w.dialWith(t, []string{"test.w: collMod", "test.w: find"})
	if got := changer.code(`{collMod: "w", viewOn: "secret", pipeline: []}`); got != 13 {
		t.Errorf("a view turned to what its changer cannot read: %d", got)
	}
}

// TestListsShowWhatIsAllowed checks that lists omit databases and collections on which the user has no privileges.
func TestListsShowWhatIsAllowed(t *testing.T) {
	w, root, reader := secured(t)
	root.ok(`{insert: "c", documents: [{}], $db: "hidden"}`)
	root.ok(`{insert: "other", documents: [{}]}`)
	names := func(c *client, cmd, list string) (out []string) {
		a, _ := at(c.ok(cmd), list).Array()
		for v := range a.Values() {
			d, _ := v.Doc()
			out = append(out, text(d.Get("name")))
		}
		return out
	}
	if got := fmt.Sprint(names(reader, `{listDatabases: 1, $db: "admin"}`, "databases")); got != "[test]" {
		t.Errorf("databases of a reader: %s", got)
	}
	if got := len(names(root, `{listDatabases: 1, $db: "admin"}`, "databases")); got != 5 {
		t.Errorf("databases of root: %d", got)
	}
	c := w.dialWith(t, []string{"test.c: find"})
	if got := fmt.Sprint(names(c, `{listCollections: 1, nameOnly: true, authorizedCollections: true}`, "cursor.firstBatch")); got != "[c]" {
		t.Errorf("collections: %s", got)
	}
}

// TestOwnPassword checks that a role can allow users to change their own password and customData, but neither their
// roles nor other users.
func TestOwnPassword(t *testing.T) {
	w, root, _ := secured(t)
	root.ok(`{createRole: "self", privileges: [{resource: {db: "test", collection: ""}, actions: ["changeOwnPassword", "changeOwnCustomData"]}], roles: []}`)
	root.ok(`{createUser: "me", pwd: "p", roles: ["self"]}`)
	me := w.dialUser(t, "me")
	me.ok(`{updateUser: "me", pwd: "new", customData: {a: 1}}`)
	me.ok(`{usersInfo: "me"}`)
	for _, cmd := range []string{`{updateUser: "reader", pwd: "x"}`, `{updateUser: "me", roles: ["read"]}`, `{usersInfo: "reader"}`} {
		if got := me.code(cmd); got != 13 {
			t.Errorf("%s: %d", cmd, got)
		}
	}
}

// TestSecretsAreHidden: the error of a refused createUser does not contain the password.
func TestSecretsAreHidden(t *testing.T) {
	_, _, reader := secured(t)
	r := reader.run(`{createUser: "x", pwd: "hush", roles: []}`)
	if s := text(r.Get("errmsg")); s == "" || strings.Contains(s, "hush") {
		t.Errorf("the error tells the password: %s", s)
	}
}

// TestSpeculation checks that a hello can contain the first message of a login, unless the user cannot log in by
// this mechanism. For a user that does not exist, the server answers as if all mechanisms were possible.
func TestSpeculation(t *testing.T) {
	_, root, _ := secured(t)
	root.ok(`{createUser: "old", pwd: "p", roles: [], mechanisms: ["SCRAM-SHA-1"]}`)
	for _, tc := range []struct {
		user, mechanism string
		want            bool
	}{
		{"reader", "SCRAM-SHA-256", true},
		{"old", "SCRAM-SHA-256", false},
		{"old", "SCRAM-SHA-1", true},
		{"nobody", "SCRAM-SHA-256", true},
	} {
		first := base64.StdEncoding.EncodeToString([]byte("n,,n=" + tc.user + ",r=abcdefghijklmnopqrstuvwx"))
		r := root.ok(`{hello: 1, saslSupportedMechs: "test.` + tc.user + `", speculativeAuthenticate: {saslStart: 1, mechanism: "` + tc.mechanism +
			`", payload: BinData(0, "` + first + `"), db: "test"}}`)
		if got := !r.Get("speculativeAuthenticate").IsMissing(); got != tc.want {
			t.Errorf("%s by %s: begun %v, want %v", tc.user, tc.mechanism, got, tc.want)
		}
	}
}

// TestUserRoles: $$USER_ROLES are the roles of the command's user.
func TestUserRoles(t *testing.T) {
	_, _, reader := secured(t)
	r := reader.ok(`{aggregate: "c", pipeline: [{$limit: 1}, {$project: {r: "$$USER_ROLES"}}], cursor: {}}`)
	if got := text(at(r, "cursor.firstBatch.0.r.0._id")); got != "test.read" {
		t.Errorf("%v", r)
	}
}
