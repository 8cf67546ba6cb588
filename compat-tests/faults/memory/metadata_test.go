package memory

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// guarded starts a server with access control and the least working memory, and creates the user root, and for
// each name in own a user with the role dbOwner of the database of that name.
func guarded(t *testing.T, data string, own ...string) *harness.Server {
	t.Helper()
	programme.RecordAtEnd(t, "memory", 0, func() (int, string) { return 1, "" })
	s := reopenGuarded(t, data)
	createUser(t, s.Client(t), "root", bson.D{{Key: "role", Value: "root"}, {Key: "db", Value: "admin"}})
	root := login(t, s, "root")
	for _, name := range own {
		createUser(t, root, name, bson.D{{Key: "role", Value: "dbOwner"}, {Key: "db", Value: name}})
	}
	return s
}

// reopenGuarded starts a server like guarded, but creates no users; the data folder may be that of an earlier one.
func reopenGuarded(t *testing.T, data string) *harness.Server {
	t.Helper()
	return harness.Start(t, harness.Options{Data: data, Args: []string{"--auth", "--work-memory", "32MB", "--cache-size", "16MB"}})
}

func createUser(t *testing.T, c *mongo.Client, name string, role bson.D) {
	t.Helper()
	if err := c.Database("admin").RunCommand(t.Context(), bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: "x"}, {Key: "roles", Value: bson.A{role}}}).Err(); err != nil {
		t.Fatal(err)
	}
}

// login connects as a user of guarded.
func login(t *testing.T, s *harness.Server, name string) *mongo.Client {
	t.Helper()
	c, err := harness.Connect(s.URI, options.Client().SetAuth(options.Credential{Username: name, Password: "x"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { harness.Disconnect(c) })
	return c
}

// refusal returns the error code with which a command was refused, 0 if it succeeded.
func refusal(t *testing.T, err error) int {
	t.Helper()
	var e mongo.CommandError
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	return int(e.Code)
}

// madeUp returns n random ids of sessions that no client has started.
func madeUp(n int) (ids bson.A) {
	for range n {
		id := make([]byte, 16)
		rand.Read(id)
		ids = append(ids, bson.D{{Key: "id", Value: bson.Binary{Subtype: 4, Data: id}}})
	}
	return ids
}

// TestUsersShareSessions checks that a user with the role dbOwner of one database cannot take all sessions of the
// server: it is refused before the last ones. The administrator can still log in, run commands, and end all
// sessions.
func TestUsersShareSessions(t *testing.T) {
	s := guarded(t, "", "greedy")
	admin, greedy := login(t, s, "root").Database("admin"), login(t, s, "greedy").Database("greedy")
	refresh := func(ids bson.A) error {
		return greedy.RunCommand(t.Context(), bson.D{{Key: "refreshSessions", Value: ids}}).Err()
	}
	if err := refresh(madeUp(10_001)); refusal(t, err) != 2 {
		t.Error("more sessions than one command may name:", err)
	}
	err := refresh(madeUp(10_000))
	for range 100 {
		if err != nil {
			break
		}
		err = refresh(madeUp(10_000))
	}
	if refusal(t, err) != 261 || !strings.Contains(err.Error(), "user admin.greedy") {
		t.Fatal("the greedy one:", err)
	}
	held := workOf(t.Context(), t, admin)["sessions"]
	if t.Logf("the greedy one is refused with %+v", held); held.Bytes < held.MaxBytes/2 || held.Bytes > held.MaxBytes/4*3 {
		t.Errorf("sessions hold %+v", held)
	}
	for range 8 { // each has a session of its own
		if err := login(t, s, "root").Database("admin").RunCommand(t.Context(), bson.D{{Key: "ping", Value: 1}}).Err(); err != nil {
			t.Fatal("the administrator:", err)
		}
	}
	if err := admin.RunCommand(t.Context(), bson.D{{Key: "killAllSessions", Value: bson.A{}}}).Err(); err != nil {
		t.Error(err)
	}
}

// heapWithin waits until the server's heap has grown since before by no more bytes than clients may make the
// server hold: the rest is garbage, which the next collections free. It reads the heap once a second, because a server that
// allocates more between two looks is not idle and keeps its garbage.
func heapWithin(t *testing.T, admin *mongo.Database, before int64) {
	t.Helper()
	const most = 32<<20 + 16<<20
	var now int64
	for range 60 {
		if now = heap(t, admin); now <= before+most {
			t.Logf("the heap is %d KB, and was %d KB", now>>10, before>>10)
			return
		}
		time.Sleep(time.Second)
	}
	t.Errorf("the heap is %d bytes, and was %d", now, before)
}

// heap returns the size of the server's heap in bytes, as serverStatus reports it.
func heap(t *testing.T, admin *mongo.Database) int64 {
	t.Helper()
	r, err := admin.RunCommand(t.Context(), bson.D{{Key: "serverStatus", Value: 1}, {Key: "tcmalloc", Value: 1}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	n, _ := r.Lookup("tcmalloc", "generic", "current_allocated_bytes").AsInt64OK()
	return n
}

// TestUsersAreBounded checks that a user with the right to create users in one database cannot make the server hold more or
// larger ones than its memory allows. Memory is left for users of other databases, also after a restart.
func TestUsersAreBounded(t *testing.T) {
	data := t.TempDir()
	s := guarded(t, data, "greedy", "modest")
	admin, greedy := login(t, s, "root").Database("admin"), login(t, s, "greedy").Database("greedy")
	before := heap(t, admin)
	addUser := func(db *mongo.Database, name string, bytes int) error {
		return db.RunCommand(t.Context(), bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: "x"}, {Key: "mechanisms", Value: bson.A{"SCRAM-SHA-1"}}, {Key: "roles", Value: bson.A{}},
			{Key: "customData", Value: bson.D{{Key: "s", Value: strings.Repeat("x", bytes)}}}}).Err()
	}
	for i := range 25 {
		if err := addUser(greedy, fmt.Sprint("large", i), 15<<20); refusal(t, err) != 10334 {
			t.Fatal("15 MB of custom data:", err)
		}
	}
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		err = addUser(greedy, fmt.Sprint("u", n), 16_000)
	}
	if refusal(t, err) != 96 {
		t.Fatal("the greedy one:", err)
	}
	t.Logf("%d users: %v", n, err)
	heapWithin(t, admin, before)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	s = reopenGuarded(t, data)
	admin = login(t, s, "root").Database("admin")
	heapWithin(t, admin, before)
	if err := addUser(login(t, s, "greedy").Database("greedy"), "more", 16_000); refusal(t, err) != 96 {
		t.Error("the greedy one after a start:", err)
	}
	if err := addUser(login(t, s, "modest").Database("modest"), "u", 16_000); err != nil {
		t.Error("the modest one:", err)
	}
	if err := admin.RunCommand(t.Context(), bson.D{{Key: "usersInfo", Value: bson.D{{Key: "forAllDBs", Value: true}}}}).Err(); err != nil {
		t.Error(err)
	}
}

// TestDefinitionsAreBounded checks that a user with the right to define collections, views and indexes in one
// database cannot make the server hold more or larger ones than its memory allows; the same holds for partitions,
// which the administrator makes. Memory is left for other databases, also after a restart.
func TestDefinitionsAreBounded(t *testing.T) {
	data := t.TempDir()
	s := guarded(t, data, "greedy", "modest")
	admin, greedy := login(t, s, "root").Database("admin"), login(t, s, "greedy").Database("greedy")
	before := heap(t, admin)
	text := func(bytes int) bson.D { return bson.D{{Key: "a", Value: strings.Repeat("x", bytes)}} }
	name := 0
	next := func() string { name++; return fmt.Sprint("c", name) }
	index := func(of string, more ...bson.E) bson.D {
		spec := append(bson.D{{Key: "key", Value: bson.D{{Key: "a", Value: 1}}}}, more...)
		return bson.D{{Key: "createIndexes", Value: of}, {Key: "indexes", Value: bson.A{spec}}}
	}
	kinds := map[string]func(bytes int) bson.D{
		"a validator": func(bytes int) bson.D {
			return bson.D{{Key: "create", Value: next()}, {Key: "validator", Value: text(bytes)}}
		},
		"a view": func(bytes int) bson.D {
			return bson.D{{Key: "create", Value: next()}, {Key: "viewOn", Value: "c"}, {Key: "pipeline", Value: bson.A{bson.D{{Key: "$match", Value: text(bytes)}}}}}
		},
		"a filter of an index": func(bytes int) bson.D {
			return index(next(), bson.E{Key: "name", Value: "a"}, bson.E{Key: "partialFilterExpression", Value: text(bytes)})
		},
		"a name of an index": func(bytes int) bson.D {
			return index(next(), bson.E{Key: "name", Value: strings.Repeat("x", bytes)})
		},
	}
	for kind, of := range kinds {
		for range 15 {
			if err := greedy.RunCommand(t.Context(), of(12<<20)).Err(); refusal(t, err) != 10334 {
				t.Fatalf("12 MB of %s: %v", kind, err)
			}
		}
	}
	for kind, of := range kinds {
		var err error
		n := 0
		for ; err == nil && n < 1000; n++ {
			err = greedy.RunCommand(t.Context(), of(60_000)).Err()
		}
		if t.Logf("%d of %s: %v", n, kind, err); refusal(t, err) != 96 {
			t.Fatalf("%d of %s: %v", n, kind, err)
		}
	}
	partitions := bson.D{{Key: "shardCollection", Value: "greedy.p"}, {Key: "key", Value: bson.D{{Key: "k", Value: "hashed"}}}, {Key: "numInitialChunks", Value: 8192}}
	if err := admin.RunCommand(t.Context(), partitions).Err(); refusal(t, err) != 96 || !strings.Contains(err.Error(), "fewer partitions") {
		t.Error("8192 partitions:", err)
	}
	heapWithin(t, admin, before)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	s = reopenGuarded(t, data)
	admin, greedy = login(t, s, "root").Database("admin"), login(t, s, "greedy").Database("greedy")
	heapWithin(t, admin, before)
	if err := greedy.RunCommand(t.Context(), kinds["a validator"](60_000)).Err(); refusal(t, err) != 96 {
		t.Error("the greedy one after a start:", err)
	}
	modest := login(t, s, "modest").Database("modest")
	if err := modest.RunCommand(t.Context(), kinds["a validator"](60_000)).Err(); err != nil {
		t.Error("the modest one:", err)
	}
	if _, err := modest.Collection("plain").InsertOne(t.Context(), bson.D{}); err != nil {
		t.Error("the modest one:", err)
	}
	if err := greedy.Drop(t.Context()); err != nil {
		t.Error(err)
	}
	held, now := workOf(t.Context(), t, admin)["catalog"], heap(t, admin)
	const plain = 200
	for i := range plain {
		if err := modest.RunCommand(t.Context(), index(fmt.Sprint("plain", i), bson.E{Key: "name", Value: "a"})).Err(); err != nil {
			t.Fatal(i, err)
		}
	}
	t.Logf("a plain collection with an index: %d bytes, counted for %d", (heap(t, admin)-now)/plain, (workOf(t.Context(), t, admin)["catalog"].Bytes-held.Bytes)/plain)
}
