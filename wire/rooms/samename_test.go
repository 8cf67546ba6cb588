package rooms

import (
	"encoding/base64"
	"fmt"
	"math"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/wire/auth"
	"github.com/cantledb/cantle/wire/command"
)

// dialAsUser returns a connection on which the existing user n, of any database, is logged in without authentication.
func (w *world) dialAsUser(n auth.Name) *client {
	c, u := w.dial(), w.Auth.User(n)
	w.enter(c, &command.Login{Name: u.Name, ID: u.ID, Mechanism: auth.ScramSHA256, Version: math.MaxUint64})
	return c
}

// statement returns a command of a transaction.
func statement(cmd string, first bool) string {
	s := cmd + `, lsid: {id: {$binary: {base64: "AAECAwQFBgcICQoLDA0ODw==", subType: "04"}}}, txnNumber: {$numberLong: "1"}, autocommit: false`
	if first {
		s += `, startTransaction: true`
	}
	return s + `}`
}

// TestNamesWithAt checks that the user a of the database b@c and the user a@b of the database c are different users,
// although both are "a@b@c" as text.
func TestNamesWithAt(t *testing.T) {
	w, root, _ := secured(t)
	root.ok(`{createUser: "a", pwd: "p", roles: [{role: "readWrite", db: "test"}], $db: "b@c"}`)
	root.ok(`{createUser: "a@b", pwd: "p", roles: [{role: "readWrite", db: "test"}], $db: "c"}`)
	one, other := w.dialAsUser(auth.Name{Name: "a", DB: "b@c"}), w.dialAsUser(auth.Name{Name: "a@b", DB: "c"})
	id := openCursor(t, one, `{find: "c", batchSize: 1}`)
	one.ok(statement(`{insert: "c", documents: [{_id: "t"}]`, true))
	owner := base64.StdEncoding.EncodeToString(one.state.(*command.ConnState).Owner[:])
	for cmd, want := range map[string]int64{
		`{usersInfo: {user: "a", db: "b@c"}}`:                                                                                                             13,
		`{usersInfo: {user: "a@b", db: "c"}}`:                                                                                                             0,
		fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c"}`, id):                                                                                13,
		statement(`{commitTransaction: 1, $db: "admin"`, false):                                                                                           251,
		`{aggregate: 1, pipeline: [{$listLocalSessions: {users: [{user: "a", db: "b@c"}]}}], cursor: {}}`:                                                 13,
		`{aggregate: 1, pipeline: [{$listLocalSessions: {users: [{user: "a@b", db: "c"}]}}], cursor: {}}`:                                                 0,
		`{endSessions: [{id: {$binary: {base64: "AAECAwQFBgcICQoLDA0ODw==", subType: "04"}}, uid: {$binary: {base64: "` + owner + `", subType: "00"}}}]}`: 13,
	} {
		if got := other.code(cmd); got != want {
			t.Errorf("%s: %d, want %d", cmd, got, want)
		}
	}
	weak := func(n auth.Name) *client {
		root.ok(`{updateUser: "` + n.Name + `", roles: [], $db: "` + n.DB + `"}`)
		return w.dialAsUser(n)
	}
	if got := weak(auth.Name{Name: "a@b", DB: "c"}).code(fmt.Sprintf(`{killCursors: "c", cursors: [{$numberLong: "%d"}]}`, id)); got != 13 {
		t.Errorf("killCursors: %d", got)
	}
	one.ok(statement(`{commitTransaction: 1, $db: "admin"`, false))
	one.ok(fmt.Sprintf(`{getMore: {$numberLong: "%d"}, collection: "c"}`, id))
}

// TestNamesWithAtInLists checks that currentOp and system.profile show both parts of the user's name, and that
// currentOp with $ownOps lists only the user's own commands.
func TestNamesWithAtInLists(t *testing.T) {
	w, root, _ := secured(t)
	root.ok(`{createUser: "me@example.org", pwd: "p", roles: [{role: "read", db: "test"}], $db: "b@c"}`)
	n := auth.Name{Name: "me@example.org", DB: "b@c"}
	c := w.dialAsUser(n)
	got, _ := at(c.ok(`{currentOp: 1, $ownOps: true, $db: "admin"}`), "inprog").Array()
	if list := fmt.Sprint(at(got, "0.effectiveUsers")); list != `[ { user: "me@example.org", db: "b@c" } ]` {
		t.Errorf("currentOp: %s", list)
	}
	root.ok(`{profile: 2}`)
	c.ok(`{find: "c"}`)
	entry := root.ok(`{find: "system.profile", filter: {user: "me@example.org@b@c"}}`)
	if users := fmt.Sprint(at(entry, "cursor.firstBatch.0.allUsers")); users != `[ { user: "me@example.org", db: "b@c" } ]` {
		t.Errorf("system.profile: %s in %v", users, entry)
	}
	other := w.dialAsUser(auth.Name{Name: "reader", DB: "test"})
	if list, _ := at(other.ok(`{currentOp: 1, $ownOps: true, $db: "admin"}`), "inprog").Array(); bson.Raw(list).Len() != 1 {
		t.Errorf("own operations: %v", list)
	}
}

// TestDroppedUsersLeaveNothing checks that the transactions, sessions and cursors of a dropped user end, and that a
// later user with the same name gets none of them.
func TestDroppedUsersLeaveNothing(t *testing.T) {
	for _, drop := range []string{`{dropUser: "writer"}`, `{dropAllUsersFromDatabase: 1}`} {
		w, root, _ := secured(t)
		root.ok(`{createUser: "admin", pwd: "p", roles: ["root"], $db: "admin"}`)
		root = w.dialAsUser(auth.Name{Name: "admin", DB: "admin"})
		const create = `{createUser: "writer", pwd: "p", roles: ["readWrite"]}`
		root.ok(create)
		before := w.dialUser(t, "writer")
		before.ok(statement(`{insert: "c", documents: [{_id: "t"}]`, true))
		openCursor(t, before, `{find: "c", batchSize: 1}`)
		sessions := w.Sessions.Stats().Sessions

		root.ok(drop)
		st := w.Sessions.Stats()
		if st.Open != 0 || st.Aborted != 1 || st.Sessions != sessions-1 || w.Cursors.Stats().Open != 0 {
			t.Errorf("%s leaves %+v, and %d cursors", drop, st, w.Cursors.Stats().Open)
		}
		root.ok(create)
		after := w.dialUser(t, "writer")
		if got := after.code(statement(`{commitTransaction: 1, $db: "admin"`, false)); got != 251 {
			t.Errorf("a later user commits what was begun before %s: %d", drop, got)
		}
		if got := number(after.ok(`{count: "c", query: {_id: "t"}}`).Get("n")); got != 0 {
			t.Errorf("%s: what a dropped user wrote in a transaction was committed", drop)
		}
	}
}

// TestLoginOfDroppedUser checks that a login fails if the user was dropped or got another password while the login
// was in progress, although the proof was right for the user at the beginning.
func TestLoginOfDroppedUser(t *testing.T) {
	for _, change := range []string{`{dropUser: "reader"}`, `{updateUser: "reader", pwd: "other"}`} {
		w, root, _ := secured(t)
		c := w.dial()
		proof, err := auth.NewProof(auth.ScramSHA256, "reader", "p")
		if err != nil {
			t.Fatal(err)
		}
		message, _ := proof.Step("")
		r := c.ok(`{saslStart: 1, mechanism: "SCRAM-SHA-256", payload: "` + base64.StdEncoding.EncodeToString([]byte(message)) + `", options: {skipEmptyExchange: true}}`)
		root.ok(change)
		_, challenge, _ := r.Get("payload").Binary()
		if message, err = proof.Step(string(challenge)); err != nil {
			t.Fatal(err)
		}
		if got := c.code(`{saslContinue: 1, conversationId: 1, payload: "` + base64.StdEncoding.EncodeToString([]byte(message)) + `"}`); got != 18 {
			t.Errorf("a login that began before %s: %d", change, got)
		}
	}
}
