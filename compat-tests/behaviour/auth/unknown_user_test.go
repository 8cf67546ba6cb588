package auth

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// challenge returns the salt and the iteration count in the server's reply to the first message of a SCRAM login.
func challenge(t *testing.T, c *mongo.Client, db, mechanism, user string) (salt string, iterations string) {
	t.Helper()
	var r struct{ Payload []byte }
	bsontest.Must(t, c.Database(db).RunCommand(harness.Context(t), bson.D{{Key: "saslStart", Value: 1}, {Key: "mechanism", Value: mechanism},
		{Key: "payload", Value: []byte("n,,n=" + user + ",r=abcdefghijklmnopqrstuvwx")}}).Decode(&r))
	for part := range strings.SplitSeq(string(r.Payload), ",") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "s":
			salt = value
		case "i":
			iterations = value
		}
	}
	return salt, iterations
}

// TestUnknownUserLooksLikeKnownUser checks that a login does not reveal whether a user exists: the replies for
// unknown users look like those for existing users and for the account, and are the same after a restart.
func TestUnknownUserLooksLikeKnownUser(t *testing.T) {
	o := harness.Options{Data: t.TempDir(), Args: []string{"--auth", "--cosmos-listen", "127.0.0.1:0", "--cosmos-account", "shop"}}
	s, err := harness.Launch(o)
	bsontest.Must(t, err)
	createRoot(t, dial(t, s.URI))
	cosmos := func() *mongo.Client {
		u, err := url.Parse(s.CosmosURI)
		bsontest.Must(t, err)
		u.User = nil
		return dial(t, u.String())
	}
	salts := func() map[string]string {
		all := map[string]string{}
		for _, c := range []struct {
			client *mongo.Client
			at     string
			users  []string
		}{{dial(t, s.URI), "MongoDB", []string{"root", "nobody", "shop"}}, {cosmos(), "Cosmos", []string{"shop", "root", "nobody"}}} {
			for mechanism, want := range map[string]string{"SCRAM-SHA-1": "10000", "SCRAM-SHA-256": "15000"} {
				for _, user := range c.users {
					salt, iterations := challenge(t, c.client, "admin", mechanism, user)
					if b, err := base64.StdEncoding.DecodeString(salt); err != nil || len(b) != map[string]int{"SCRAM-SHA-1": 16, "SCRAM-SHA-256": 28}[mechanism] || iterations != want {
						t.Errorf("%s of %s by %s: salt %q, %s iterations", user, c.at, mechanism, salt, iterations)
					}
					all[fmt.Sprint(mechanism, " ", user, " ", c.at)] = salt
				}
			}
		}
		return all
	}
	before := salts()
	bsontest.Must(t, s.Stop())
	s = harness.Start(t, o)
	for name, salt := range salts() {
		if before[name] != salt {
			t.Errorf("%s: the salt has changed with a restart", name)
		}
	}
	bsontest.Must(t, run(t, as(t, s, rootCredential), "admin", bson.D{{Key: "setParameter", Value: 1}, {Key: "scramSHA256IterationCount", Value: 20000}}))
	bsontest.Must(t, run(t, as(t, s, rootCredential), "admin", bson.D{{Key: "createUser", Value: "new"}, {Key: "pwd", Value: "x"}, {Key: "roles", Value: bson.A{}}}))
	c := cosmos()
	for _, user := range []string{"new", "nobody", "shop"} {
		if _, iterations := challenge(t, c, "admin", "SCRAM-SHA-256", user); iterations != "20000" {
			t.Errorf("%s has %s iterations after the parameter was changed", user, iterations)
		}
	}
}
