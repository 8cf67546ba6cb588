package auth

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestValuesOfPartitions checks the privileges for statistics of partitions. Their load requires the privilege
// for statistics. Hot shard key values also require the privilege to read the documents. Bounds require the
// privilege for statistics and one of two: to read the documents, or to read config.chunks.
func TestValuesOfPartitions(t *testing.T) {
	s := harness.Start(t, harness.Options{Args: []string{"--auth"}})
	createRoot(t, dial(t, s.URI))
	root := as(t, s, rootCredential)
	for _, cmd := range []struct{ db, text string }{
		{"shop", `{"customAction": "CreateCollection", "collection": "people", "shardKey": "email", "offerThroughput": 10000}`},
		{"shop", `{"insert": "people", "documents": [{"_id": 1, "email": "alice@home", "text": "long"}]}`},
		{"admin", `{"shardCollection": "shop.ranged", "key": {"email": 1}}`},
		{"admin", `{"split": "shop.ranged", "middle": {"email": "bob@home"}}`},
	} {
		bsontest.Must(t, run(t, root, cmd.db, parse(t, cmd.text)))
	}
	partitions := func(c *mongo.Client, coll string) string {
		t.Helper()
		reply, err := c.Database("shop").RunCommand(t.Context(), parse(t, `{"customAction": "GetPartitions", "collection": "`+coll+`"}`)).Raw()
		bsontest.Must(t, err)
		return reply.String()
	}
	for _, x := range []struct {
		user, role     string
		values, bounds bool
	}{
		{"reader", `[{"role": "read", "db": "shop"}]`, true, true},
		{"keeper", `[{"role": "dbAdmin", "db": "shop"}]`, false, false},
		{"watcher", `["clusterMonitor"]`, false, true},
	} {
		c := userWith(t, s, root, x.user, x.role)
		hashed, ranged := partitions(c, "people"), partitions(c, "ranged")
		for _, want := range []string{"hottestByRU", `"bytes"`} {
			if !strings.Contains(hashed, want) {
				t.Errorf("%s sees no %s: %s", x.user, want, hashed)
			}
		}
		if got := strings.Contains(hashed, "alice"); got != x.values {
			t.Errorf("%s sees values: %v: %s", x.user, got, hashed)
		}
		if got := strings.Contains(ranged, "bob"); got != x.bounds {
			t.Errorf("%s sees bounds: %v: %s", x.user, got, ranged)
		}
	}
}
