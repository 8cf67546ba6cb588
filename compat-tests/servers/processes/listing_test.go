package processes

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// listed returns the documents of config.mongos by their _id.
func listed(t *testing.T, c *mongo.Client) map[string]bson.M {
	t.Helper()
	var docs []bson.M
	found, err := c.Database("config").Collection("mongos").Find(t.Context(), bson.M{})
	if err == nil {
		err = found.All(t.Context(), &docs)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bson.M{}
	for _, d := range docs {
		out[d["_id"].(string)] = d
	}
	return out
}

// TestListing checks that each server lists all live ones with their advertised addresses, and no longer
// lists one that has stopped.
func TestListing(t *testing.T) {
	_, place := cluster(t)
	first := mustLaunch(t, place)
	second := mustLaunch(t, place, "--advertise", "second.example:27017")
	client := connect(t, first.URI)
	var docs map[string]bson.M
	for docs = listed(t, client); len(docs) < 2; docs = listed(t, client) { // until each has written its heartbeat
	}
	for _, id := range []string{first.Addr, "second.example:27017"} {
		d := docs[id]
		for _, name := range []string{"advisoryHostFQDNs", "created", "mongoVersion", "ping", "up", "waiting"} {
			if _, ok := d[name]; !ok {
				t.Errorf("%s lacks %s: %v", id, name, d)
			}
		}
	}
	var out []byte
	for text := ""; !strings.Contains(text, "collect"); text = string(out) { // until the job has an owner
		var err error
		if out, err = exec.Command(must(harness.Binary()), "gateways", second.URI).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Logf("\n%s", out)
	for _, want := range []string{first.Addr, "second.example:27017", "connections", "serving"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("cantle gateways lacks %q:\n%s", want, out)
		}
	}
	if out, err := exec.Command(must(harness.Binary()), "gateways", "--json", second.URI).Output(); err != nil || strings.Count(string(out), "\n") != 2 {
		t.Errorf("as JSON: %v: %s", err, out)
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	if docs := listed(t, client); len(docs) != 1 {
		t.Errorf("after one has gone: %v", docs)
	}
	third := mustLaunch(t, place)
	for len(listed(t, client)) < 2 {
	}
	third.Kill()
	begun := time.Now()
	for len(listed(t, client)) > 1 {
	}
	t.Logf("a server that was killed was listed for %v more", time.Since(begun))
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
}
