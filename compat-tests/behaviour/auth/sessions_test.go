package auth

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestListSessions checks that users see their own sessions, that seeing those of other users requires a privilege,
// and that an ended session is not listed.
// Manual: reference/operator/aggregation/listSessions, listLocalSessions.
func TestListSessions(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	createRoot(t, dial(t, s.URI))
	root := as(t, s, rootCredential)
	ctx := harness.Context(t)
	user := func(name string) (*mongo.Client, string) {
		bsontest.Must(t, run(t, root, "app", bson.D{{Key: "createUser", Value: name}, {Key: "pwd", Value: name},
			{Key: "roles", Value: bson.A{"readWrite"}}}))
		c := as(t, s, options.Credential{AuthSource: "app", Username: name, Password: name})
		session, err := c.StartSession()
		bsontest.Must(t, err)
		bsontest.Must(t, c.Database("app").RunCommand(mongo.NewSessionContext(ctx, session), bson.D{{Key: "ping", Value: 1}}).Err())
		_, id := session.ID().Lookup("id").Binary()
		return c, string(id)
	}
	ann, annsID := user("ann")
	_, bobsID := user("bob")

	// list reports which of the two sessions a stage lists.
	list := func(c *mongo.Client, stage string, spec bson.D) (anns, bobs bool, err error) {
		pipeline := mongo.Pipeline{{{Key: stage, Value: spec}}}
		var cur *mongo.Cursor
		if stage == "$listSessions" {
			cur, err = c.Database("config").Collection("system.sessions").Aggregate(ctx, pipeline)
		} else {
			cur, err = c.Database("app").Aggregate(ctx, pipeline)
		}
		if err != nil {
			return false, false, err
		}
		var docs []struct {
			ID struct {
				ID  bson.Binary
				UID bson.Binary
			} `bson:"_id"`
			LastUse bson.DateTime
			User    struct{ Name string }
		}
		bsontest.Must(t, cur.All(ctx, &docs))
		for _, d := range docs {
			if d.ID.ID.Subtype != 4 || len(d.ID.UID.Data) != 32 || d.LastUse == 0 ||
				string(d.ID.ID.Data) == annsID && d.User.Name != "ann@app" {
				t.Errorf("%s shows %+v", stage, d)
			}
			anns = anns || string(d.ID.ID.Data) == annsID
			bobs = bobs || string(d.ID.ID.Data) == bobsID
		}
		return anns, bobs, nil
	}
	all := bson.D{{Key: "allUsers", Value: true}}
	of := func(name string) bson.D {
		return bson.D{{Key: "users", Value: bson.A{bson.D{{Key: "user", Value: name}, {Key: "db", Value: "app"}}}}}
	}
	for _, stage := range []string{"$listLocalSessions", "$listSessions"} {
		for _, c := range []struct {
			who        string
			client     *mongo.Client
			spec       bson.D
			code       int
			anns, bobs bool
		}{
			{"ann", ann, bson.D{}, 0, true, false},
			{"ann", ann, of("ann"), 0, true, false},
			{"ann", ann, of("bob"), 13, false, false},
			{"ann", ann, all, 13, false, false},
			{"root", root, bson.D{}, 0, false, false},
			{"root", root, all, 0, true, true},
			{"root", root, of("bob"), 0, false, true},
			{"root", root, append(of("bob"), all...), 12, false, false},
		} {
			anns, bobs, err := list(c.client, stage, c.spec)
			if code(err) != c.code || anns != c.anns || bobs != c.bobs {
				t.Errorf("%s by %s with %v: ann's %v, bob's %v, %v", stage, c.who, c.spec, anns, bobs, err)
			}
		}
	}
	ended := bson.D{{Key: "endSessions", Value: bson.A{bson.D{{Key: "id", Value: bson.Binary{Subtype: 4, Data: []byte(annsID)}}}}}}
	bsontest.Must(t, run(t, ann, "admin", ended))
	if anns, bobs, err := list(root, "$listLocalSessions", all); anns || !bobs || err != nil {
		t.Errorf("after the end of ann's: ann's %v, bob's %v, %v", anns, bobs, err)
	}
}

// TestUnauthenticatedHaveNoSessions checks that commands that require no login create no sessions, so that clients
// without a login cannot fill the server's table of sessions.
// Spec: driver-sessions#sending-the-session-id-to-the-server-on-all-commands.
func TestUnauthenticatedHaveNoSessions(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	stranger := dial(t, s.URI)
	createRoot(t, stranger)
	for range 3 {
		bsontest.Must(t, run(t, stranger, "admin", bson.D{{Key: "ping", Value: 1}})) // the driver adds the id of a session
	}
	cur, err := as(t, s, rootCredential).Database("admin").Aggregate(harness.Context(t),
		mongo.Pipeline{{{Key: "$listLocalSessions", Value: bson.D{{Key: "allUsers", Value: true}}}}})
	bsontest.Must(t, err)
	var docs []bson.M
	bsontest.Must(t, cur.All(harness.Context(t), &docs))
	if len(docs) == 0 {
		t.Error("root's own session is missing")
	}
	for _, d := range docs {
		if d["user"] == nil {
			t.Errorf("nobody's session: %v", d)
		}
	}
}
