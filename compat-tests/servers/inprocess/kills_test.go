package inprocess

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson/bsontest"
)

// sleeping starts a long command at a server, and returns its opid and a channel for its error.
func sleeping(t *testing.T, g *gateway, name string) (opid any, ended <-chan error) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		done <- g.Database("test").RunCommand(context.WithoutCancel(t.Context()), bson.D{{Key: "find", Value: "x"}, {Key: "comment", Value: name},
			{Key: "filter", Value: bson.M{"$where": "sleep(200) || true"}}}).Err()
	}()
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		c, err := g.Database("admin").Aggregate(t.Context(), mongo.Pipeline{{{Key: "$currentOp", Value: bson.M{}}}, {{Key: "$match", Value: bson.M{"command.comment": name}}}})
		bsontest.Must(t, err)
		var found []bson.M
		bsontest.Must(t, c.All(t.Context(), &found))
		if len(found) == 1 {
			return found[0]["opid"], done
		}
	}
	t.Fatal("the command does not run")
	return nil, nil
}

// TestKillsElsewhere checks that what runs at one server can be ended through another one: a command by its
// opid, a session's command and transaction.
func TestKillsElsewhere(t *testing.T) {
	g := several(t, 2)
	waitListed(t, g...)
	for i := range 100 {
		insert(t, g[0].coll("x"), bson.M{"_id": i})
	}
	admin := g[1].Database("admin")
	ends := func(what string, ended <-chan error, code string) {
		t.Helper()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), code) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(2 * time.Minute):
			t.Errorf("%s: it goes on", what)
		}
	}
	opid, ended := sleeping(t, g[0], "by number")
	bsontest.Must(t, admin.RunCommand(t.Context(), bson.D{{Key: "killOp", Value: 1}, {Key: "op", Value: opid}}).Err())
	ends("killOp", ended, "Interrupted")

	for _, command := range []string{"killAllSessions", "killAllSessionsByPattern", "killSessions"} {
		s, err := g[0].StartSession()
		bsontest.Must(t, err)
		bsontest.Must(t, s.StartTransaction())
		in := mongo.NewSessionContext(t.Context(), s)
		_, err = g[0].coll("x").UpdateOne(in, bson.M{"_id": 1}, bson.M{"$set": bson.M{command: 1}})
		bsontest.Must(t, err)
		_, ended := sleeping(t, g[0], command)
		bsontest.Must(t, admin.RunCommand(t.Context(), bson.D{{Key: command, Value: bson.A{}}}).Err())
		ends(command, ended, "Interrupted")
		if err := s.CommitTransaction(in); err == nil {
			t.Errorf("%s: a transaction is committed that was to end", command)
		}
	}
}
