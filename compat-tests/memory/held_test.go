package memory

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults"
	"github.com/cantledb/cantle/compat-tests/harness"
)

// guarded starts a server with users and the least working memory there is: root, who administers
// it, and who may administer a database of their own each.
func guarded(t *testing.T, data string, own ...string) *harness.Server {
	t.Helper()
	faults.Tell(t, "memory", 0, func() (int, string) { return 1, "" })
	s := harness.Start(t, harness.Options{Data: data, Args: []string{"--auth", "--work-memory", "32MB", "--cache-size", "16MB"}})
	createUser(t, s.Client(t), "root", bson.D{{Key: "role", Value: "root"}, {Key: "db", Value: "admin"}})
	root := login(t, s, "root")
	for _, name := range own {
		createUser(t, root, name, bson.D{{Key: "role", Value: "dbOwner"}, {Key: "db", Value: name}})
	}
	return s
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
	t.Cleanup(func() { _ = c.Disconnect(context.Background()) })
	return c
}

// refusal is the code that a command is refused with, 0 if it is not.
func refusal(t *testing.T, err error) int {
	t.Helper()
	var e mongo.CommandError
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	return int(e.Code)
}

// madeUp are ids of sessions that there are not.
func madeUp(n int) (ids bson.A) {
	for range n {
		id := make([]byte, 16)
		rand.Read(id)
		ids = append(ids, bson.D{{Key: "id", Value: bson.Binary{Subtype: 4, Data: id}}})
	}
	return ids
}

// A user without rights who takes all sessions that there are to have is refused, and leaves room for others: the
// administrator logs in, runs commands and ends what the user has taken.
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
	if refusal(t, err) != 261 || !strings.Contains(err.Error(), "user greedy@admin") {
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
