package inprocess

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/bson/bsontest"
)

// warnings returns the lines of a server's log about price lists.
func (g *gateway) warnings(t *testing.T) []string {
	t.Helper()
	var reply struct{ Log []string }
	bsontest.Must(t, g.Database("admin").RunCommand(t.Context(), bson.D{{Key: "getLog", Value: "global"}}).Decode(&reply))
	return slices.DeleteFunc(reply.Log, func(line string) bool { return !strings.Contains(line, "different price lists") })
}

func (g *gateway) address() string {
	return strings.TrimSuffix(strings.TrimPrefix(g.URI, "mongodb://"), "/")
}

// TestPricesDiffer checks that a server warns of peers that charge by another price list, and of no others.
func TestPricesDiffer(t *testing.T) {
	first := start(t, newCluster(t), "--prices", "normative")
	waitListed(t, first)
	second := startLike(t, first, "--prices", "mongo-2023")
	for until := time.Now().Add(30 * time.Second); len(second.warnings(t)) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no warning")
		}
	}
	got := second.warnings(t)[0]
	for _, want := range []string{"normative/", "mongo-2023/", first.address()} {
		if !strings.Contains(got, want) {
			t.Errorf("the warning lacks %s: %s", want, got)
		}
	}
	waitListed(t, first, second)
	same := startLike(t, first, "--prices", "normative")
	for until := time.Now().Add(30 * time.Second); len(same.warnings(t)) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no warning of the second")
		}
	}
	for _, line := range same.warnings(t) {
		if !strings.Contains(line, second.address()) || strings.Contains(line, first.address()) {
			t.Errorf("a warning of a server with the same list: %s", line)
		}
	}
}
