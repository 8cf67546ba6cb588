package upgrade

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestReleased opens the folder of each release.
func TestReleased(t *testing.T) {
	list, err := filepath.Glob("released/*.zip")
	if err != nil || len(list) == 0 {
		t.Fatalf("no folders of releases: %v", err)
	}
	opened := 0
	programme.RecordAtEnd(t, "upgrade", 0, func() (int, string) { return opened, fmt.Sprintf("%d folders opened twice", opened) })
	for _, from := range list {
		opened++
		t.Run(strings.TrimSuffix(filepath.Base(from), ".zip"), func(t *testing.T) {
			data := t.TempDir()
			unpack(t, from, data)
			want, err := os.ReadFile(filepath.Join(data, expected))
			if err != nil {
				t.Fatal(err)
			}
			for _, life := range []string{"as it was released", "after it was written to"} {
				s := launch(t, data)
				client := s.Client(t)
				if got := contents(t, client); string(got) != string(want) {
					t.Errorf("%s:\n%s", life, firstDifference(string(got), string(want)))
				}
				works(t, client)
				if err := s.Stop(); err != nil {
					t.Fatal(err)
				}
			}
			bin, err := harness.Binary()
			if err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), bin, "check", "--data", data).CombinedOutput(); err != nil {
				t.Errorf("check: %v\n%s", err, out)
			}
		})
	}
}

// works checks that the definitions stored in a folder are effective: indexes agree with documents, a unique index
// refuses a duplicate, a validator refuses a document, the user is listed, and documents can be
// inserted and deleted. It leaves the data as they were.
func works(t *testing.T, client *mongo.Client) {
	t.Helper()
	shop := client.Database("shop")
	for _, name := range collections {
		var reply struct {
			Valid  bool
			Errors []string
		}
		if err := shop.RunCommand(t.Context(), bson.D{{Key: "validate", Value: name}}).Decode(&reply); err != nil || !reply.Valid {
			t.Errorf("validate %s: %v %v", name, err, reply.Errors)
		}
	}
	if _, err := shop.Collection("orders").InsertOne(t.Context(), bson.D{{Key: "_id", Value: "new"}, {Key: "n", Value: 0}}); !mongo.IsDuplicateKeyError(err) {
		t.Errorf("a second n: 0: %v", err)
	}
	if _, err := shop.Collection("checked").InsertOne(t.Context(), bson.D{{Key: "n", Value: "text"}}); err == nil {
		t.Error("the validator takes what it should not")
	}
	var info struct{ Users []struct{ User string } }
	if err := shop.RunCommand(t.Context(), bson.D{{Key: "usersInfo", Value: "ada"}}).Decode(&info); err != nil || len(info.Users) != 1 || info.Users[0].User != "ada" {
		t.Errorf("usersInfo: %v %v", info.Users, err)
	}
	for _, name := range []string{"orders", "items", "ranged", "clustered"} {
		coll := shop.Collection(name)
		doc := bson.D{{Key: "_id", Value: 1000}, {Key: "k", Value: "z"}, {Key: "n", Value: 1000}}
		if _, err := coll.InsertOne(t.Context(), doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if r, err := coll.DeleteOne(t.Context(), doc); err != nil || r.DeletedCount != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// firstDifference returns the first line in which two texts differ, with the lines before it.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i] + "\nafter " + strings.Join(w[max(0, i-12):i], "\n")
		}
	}
	return "one is longer"
}

// TestNewer checks that a server refuses a folder of a newer format with one message that names the reason.
func TestNewer(t *testing.T) {
	data := t.TempDir()
	unpack(t, "released/0.1.zip", data)
	db, err := pebble.Open(filepath.Join(data, "store"), &pebble.Options{FormatMajorVersion: pebble.FormatValueSeparation, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Set([]byte{0, 'f'}, []byte{99}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := harness.Launch(harness.Options{Data: data})
	if err == nil {
		s.Kill()
		t.Fatal("it was opened")
	}
	if text := err.Error(); !strings.Contains(text, "was written by a newer cantle than this one") || strings.Count(text, "cantle serve:") != 1 {
		t.Errorf("refused with: %v", err)
	}
}

// quiet is a logger that discards everything.
type quiet struct{}

func (quiet) Infof(string, ...any)      {}
func (quiet) Errorf(string, ...any)     {}
func (quiet) Fatalf(f string, _ ...any) { panic(f) }
