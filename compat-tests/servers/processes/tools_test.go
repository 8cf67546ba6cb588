package processes

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestVerbs checks that verbs which read through cursors stay with one server, whether their connection
// string lists several servers, one of which may be down, or a load balancer.
func TestVerbs(t *testing.T) {
	_, place := cluster(t)
	first, second := mustLaunch(t, place), mustLaunch(t, place)
	client := connect(t, first.URI)
	const docs = 5000
	all := make([]any, docs)
	for i := range all {
		all[i] = bson.M{"_id": i, "text": strings.Repeat("x", 1000)}
	}
	if _, err := client.Database("shop").Collection("items").InsertMany(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	balancer := harness.Balance(t, first.Addr, second.Addr)
	gone := strings.Replace(hosts(first, second), first.Addr, freePort(t), 1)
	for _, uri := range []string{hosts(first, second), balancer.URI(), gone} {
		for range 4 { // the first choice of a server is random
			cantle(t, "dump", "--out", t.TempDir(), uri)
		}
		out := outputOf(t, "export", uri, "shop.items")
		if n := strings.Count(out, `"text"`); n != docs {
			t.Errorf("export from %s has %d documents", uri, n)
		}
	}
	if out := outputOf(t, "ping", balancer.URI()); !strings.Contains(out, "answers in") {
		t.Errorf("ping says %s", out)
	}
	if out := outputOf(t, "advise", balancer.URI(), "shop.items"); !strings.Contains(out, "_id") {
		t.Errorf("advise says %s", out)
	}
}

// TestEngineShown checks that clients can read the storage engine, and whether it is persistent.
func TestEngineShown(t *testing.T) {
	_, place := cluster(t)
	for want, o := range map[string]harness.Options{
		"tikv true":    {Storage: place},
		"pebble true":  {Data: t.TempDir()},
		"memory false": {Storage: "memory"},
	} {
		s, err := harness.LaunchBinary(must(harness.Binary()), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Kill)
		admin := connect(t, s.URI).Database("admin")
		answer := func(command string) bson.Raw {
			raw, err := admin.RunCommand(t.Context(), bson.D{{Key: command, Value: 1}}).Raw()
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
		engine := lookup[bson.Raw](t, answer("serverStatus"), "storageEngine")
		name := lookup[string](t, engine, "name")
		if got := fmt.Sprint(name, " ", lookup[bool](t, engine, "persistent")); got != want {
			t.Errorf("serverStatus says %s, want %s", got, want)
		}
		if list := lookup[[]string](t, answer("buildInfo"), "storageEngines"); len(list) != 1 || list[0] != name {
			t.Errorf("buildInfo says %v", list)
		}
	}
}
