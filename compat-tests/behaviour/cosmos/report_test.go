package cosmos

import (
	"os/exec"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestRefusalsReported checks that the server counts, by application, the features that clients used and an account
// lacks, whether it refuses or accepts them, and that cantle report lists them.
func TestRefusalsReported(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		var args []string
		if lenient {
			args = append(args, "--cosmos-lenient")
		}
		s := start(t, args...)
		db := connect(t, s.CosmosURI, options.Client().SetAppName("shop")).Database("test")
		for range 3 {
			err := db.RunCommand(t.Context(), d("aggregate", "c", "pipeline", bson.A{d("$unionWith", "other")}, "cursor", bson.D{})).Err()
			if (err == nil) != lenient {
				t.Errorf("lenient %t: %v", lenient, err)
			}
		}
		binary, err := harness.Binary()
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), binary, "report", s.URI).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var line string
		for l := range strings.Lines(string(out)) {
			if strings.Contains(l, "$unionWith") && strings.Contains(l, "aggregation stages") {
				line = l
			}
		}
		if f := strings.Fields(line); len(f) < 5 || f[0] != "3" || f[4] != "shop" {
			t.Errorf("lenient %t: no line for $unionWith:\n%s", lenient, out)
		}
	}
}
