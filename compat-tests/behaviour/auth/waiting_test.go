package auth

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestRevokedWhileWaiting checks a getMore of a tailable cursor, and one of a change stream, that waits for new
// documents while its user's role is revoked: it ends with the error Unauthorized when a document is written
// afterwards.
func TestRevokedWhileWaiting(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	createRoot(t, dial(t, s.URI))
	root := as(t, s, rootCredential)
	bsontest.Must(t, run(t, root, "shop", parse(t, `{"create": "tail", "capped": true, "size": 4096}`)))
	bsontest.Must(t, run(t, root, "shop", parse(t, `{"insert": "tail", "documents": [{"_id": 0}]}`)))
	opens := []string{
		`{"find": "tail", "filter": {"_id": {"$gt": 0}}, "tailable": true, "awaitData": true}`,
		`{"aggregate": "tail", "pipeline": [{"$changeStream": {}}], "cursor": {}}`,
	}
	for i, open := range opens {
		user := fmt.Sprint("reader", i)
		c := userWith(t, s, root, user, `[{"role": "read", "db": "shop"}]`)
		session, err := c.StartSession() // a cursor belongs to its session
		bsontest.Must(t, err)
		defer session.EndSession(context.Background())
		ctx := mongo.NewSessionContext(harness.Context(t), session)
		var reply struct{ Cursor struct{ ID int64 } }
		bsontest.Must(t, c.Database("shop").RunCommand(ctx, parse(t, open)).Decode(&reply))
		more := bson.D{{Key: "getMore", Value: reply.Cursor.ID}, {Key: "collection", Value: "tail"}, {Key: "maxTimeMS", Value: 60_000}}
		ended := make(chan error, 1)
		go func() { ended <- c.Database("shop").RunCommand(ctx, more).Err() }()
		waiting := func() bool {
			var ops struct{ Inprog []bson.Raw }
			bsontest.Must(t, root.Database("admin").RunCommand(t.Context(), parse(t, `{"currentOp": 1, "op": "getmore"}`)).Decode(&ops))
			return len(ops.Inprog) > 0
		}
		for begun := time.Now(); !waiting(); {
			if time.Since(begun) > 30*time.Second {
				t.Fatal("the getMore does not wait")
			}
		}
		bsontest.Must(t, run(t, root, "admin", parse(t, `{"revokeRolesFromUser": "`+user+`", "roles": [{"role": "read", "db": "shop"}]}`)))
		bsontest.Must(t, run(t, root, "shop", parse(t, fmt.Sprintf(`{"insert": "tail", "documents": [{"_id": %d}]}`, i+1))))
		if err := <-ended; code(err) != 13 {
			t.Errorf("%s: the getMore that waited ends with %v", open, err)
		}
	}
}
