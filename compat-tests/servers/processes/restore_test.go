package processes

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/s3server"
)

// TestRestoreBackups restores a dropped database, with all its definitions, from backups in a folder and in an object store: into the
// server that has made them, while it runs, and into a cluster.
func TestRestoreBackups(t *testing.T) {
	for _, kind := range []string{"folder", "object store"} {
		t.Run(kind, func(t *testing.T) {
			backups := filepath.Join(t.TempDir(), "backups")
			if kind == "object store" {
				store := s3server.Start(t)
				backups = store.Location("shop", store.URL)
				for _, entry := range s3server.Environment() { // for the commands as well
					name, value, _ := strings.Cut(entry, "=")
					t.Setenv(name, value)
				}
			}
			from, err := harness.LaunchBinary(must(harness.Binary()), harness.Options{Data: t.TempDir(), Args: []string{"--backup-to", backups, "--backup-interval", "0"}, Env: s3server.Environment()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(from.Kill)
			shop := connect(t, from.URI).Database("shop")
			if _, err := shop.Collection("kept").InsertOne(t.Context(), bson.M{"_id": 1}); err != nil {
				t.Fatal(err)
			}
			cantle(t, "backup", from.URI)
			fill(t, shop)
			want := described(t, shop)
			moment := lookup[bson.Timestamp](t, run(t, shop, `{"ping": 1}`), "operationTime")
			if err := shop.Drop(t.Context()); err != nil {
				t.Fatal(err)
			}
			cantle(t, "backup", from.URI) // which covers the moment
			_, place := cluster(t)
			for _, to := range []*harness.Server{from, mustLaunch(t, place)} {
				cantle(t, "restore", "--from", backups, "--at", fmt.Sprintf("%d,%d", moment.T, moment.I), "--ns", "shop", to.URI)
				got := described(t, connect(t, to.URI).Database("shop"))
				for what := range want {
					if !reflect.DeepEqual(got[what], want[what]) {
						t.Errorf("%s: %v, was %v", what, got[what], want[what])
					}
				}
				if len(got) != len(want) || len(got) < 25 {
					t.Errorf("%d things, were %d", len(got), len(want))
				}
			}
		})
	}
}
