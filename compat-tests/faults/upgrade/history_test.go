package upgrade

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/cantledb/cantle/compat-tests/faults/programme"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/testenv"
)

// historyStep is the number of commits between two commits of the repository whose programs TestHistory builds.
const historyStep = 50

// kinds are indexes of every kind that a folder of the history has, each with a filter that uses it, or nil if
// compare has other queries for it. Programs that do not support a kind omit it.
var kinds = []struct {
	name    string
	key     bson.D
	options bson.D
	filter  bson.D
}{
	{"plain", bson.D{{Key: "n", Value: 1}}, nil, bson.D{{Key: "n", Value: bson.D{{Key: "$gte", Value: 7}}}}},
	{"unique", bson.D{{Key: "u", Value: -1}}, bson.D{{Key: "unique", Value: true}}, bson.D{{Key: "u", Value: bson.D{{Key: "$lt", Value: "u30"}}}}},
	{"multikey", bson.D{{Key: "tags", Value: 1}, {Key: "n", Value: -1}}, nil, bson.D{{Key: "tags", Value: bson.D{{Key: "$in", Value: bson.A{"b", nil}}}}}},
	{"positions", bson.D{{Key: "list.0.x", Value: 1}}, nil, bson.D{{Key: "list.0.x", Value: bson.D{{Key: "$gt", Value: 3}}}}},
	{"collated", bson.D{{Key: "word", Value: 1}}, bson.D{{Key: "collation", Value: bson.D{{Key: "locale", Value: "de"}, {Key: "strength", Value: 2}}}}, nil},
	{"partial", bson.D{{Key: "part", Value: 1}}, bson.D{{Key: "partialFilterExpression", Value: bson.D{{Key: "n", Value: bson.D{{Key: "$gt", Value: 10}}}}}}, bson.D{{Key: "part", Value: bson.D{{Key: "$gt", Value: 0}}}, {Key: "n", Value: bson.D{{Key: "$gt", Value: 10}}}}},
	{"sparse", bson.D{{Key: "gone", Value: 1}}, bson.D{{Key: "sparse", Value: true}}, bson.D{{Key: "gone", Value: bson.D{{Key: "$gt", Value: 2}}}}},
	{"hashed", bson.D{{Key: "h", Value: "hashed"}}, nil, bson.D{{Key: "h", Value: 9}}},
	{"wildcard", bson.D{{Key: "w.$**", Value: 1}}, nil, bson.D{{Key: "w.x", Value: bson.D{{Key: "$lte", Value: 20}}}}},
	{"2d", bson.D{{Key: "flat", Value: "2d"}}, nil, bson.D{{Key: "flat", Value: bson.D{{Key: "$geoWithin", Value: bson.D{{Key: "$box", Value: bson.A{bson.A{0, 0}, bson.A{12, 12}}}}}}}}},
	{"2dsphere", bson.D{{Key: "at", Value: "2dsphere"}}, nil, bson.D{{Key: "at", Value: bson.D{{Key: "$geoWithin", Value: bson.D{{Key: "$centerSphere", Value: bson.A{bson.A{10, 10}, 0.2}}}}}}}},
	{"text", bson.D{{Key: "text", Value: "text"}, {Key: "other", Value: "text"}}, bson.D{{Key: "default_language", Value: "german"}}, nil},
}

// words are the words that the test searches in the text index; historyDoc determines how many documents have
// each.
var words = []string{"katze", "laufen", "häuser", "schnell"}

// historyDocs is the number of documents of each collection in a folder of the history.
const historyDocs = 60

// historyDoc returns the i-th document of a collection, with values for the indexes in kinds; some documents have
// none for some indexes.
func historyDoc(i int) bson.D {
	texts := []string{"Die Katzen laufen über die Dächer", "Eine Katze läuft schnell nach Haus", "Häuser stehen, und alle laufen schnelle Wege"}
	d := bson.D{{Key: "_id", Value: i}, {Key: "n", Value: i % 20}, {Key: "u", Value: fmt.Sprintf("u%02d", i)}, {Key: "k", Value: i % 7},
		{Key: "word", Value: []string{"Äpfel", "apfel", "Zebra", "ähre"}[i%4]}, {Key: "part", Value: i - 5}, {Key: "h", Value: int64(i)}, {Key: "w", Value: bson.D{{Key: "x", Value: i}, {Key: "y", Value: bson.A{i, "z"}}}},
		{Key: "flat", Value: bson.A{i % 30, float64(i) / 2}}, {Key: "text", Value: texts[i%3]},
		{Key: "list", Value: bson.A{bson.D{{Key: "x", Value: i}}, bson.D{{Key: "x", Value: -i}}}}}
	switch i % 5 {
	case 0:
		d = append(d, bson.E{Key: "tags", Value: bson.A{"a", "b", i}})
	case 1:
		d = append(d, bson.E{Key: "tags", Value: bson.A{}}, bson.E{Key: "gone", Value: i})
	case 2:
		d = append(d, bson.E{Key: "tags", Value: "b"}, bson.E{Key: "other", Value: bson.A{"noch eine Katze"}})
	}
	switch i % 4 {
	case 0:
		d = append(d, bson.E{Key: "at", Value: bson.D{{Key: "type", Value: "Point"}, {Key: "coordinates", Value: bson.A{float64(i), float64(i) / 3}}}})
	case 1:
		d = append(d, bson.E{Key: "at", Value: bson.A{float64(i), 10.5}})
	case 2:
		x := float64(i)
		ring := bson.A{bson.A{x, 0}, bson.A{x + 3, 0}, bson.A{x + 3, 20}, bson.A{x, 20}, bson.A{x, 0}}
		d = append(d, bson.E{Key: "at", Value: bson.D{{Key: "type", Value: "Polygon"}, {Key: "coordinates", Value: bson.A{ring}}}})
	}
	return d
}

// layouts are the collections in a folder of the history: their names and shard keys. A program that does not
// support a layout omits it.
var layouts = []struct {
	name string
	key  bson.D
}{{"whole", nil}, {"hashed", bson.D{{Key: "k", Value: "hashed"}}}, {"ranged", bson.D{{Key: "k", Value: 1}}}}

// fillHistory stores what the program supports.
func fillHistory(t *testing.T, client *mongo.Client) {
	t.Helper()
	shop := client.Database("shop")
	for _, l := range layouts {
		if l.key != nil {
			cmd := bson.D{{Key: "shardCollection", Value: "shop." + l.name}, {Key: "key", Value: l.key}}
			if l.name == "hashed" {
				cmd = append(cmd, bson.E{Key: "numInitialChunks", Value: 3})
			}
			if err := client.Database("admin").RunCommand(t.Context(), cmd).Err(); err != nil {
				t.Logf("%s is left out: %v", l.name, err)
				continue
			}
		}
		for _, k := range kinds {
			if l.key != nil && k.name == "unique" {
				continue
			}
			spec := append(bson.D{{Key: "key", Value: k.key}, {Key: "name", Value: k.name}}, k.options...)
			if err := shop.RunCommand(t.Context(), bson.D{{Key: "createIndexes", Value: l.name}, {Key: "indexes", Value: bson.A{spec}}}).Err(); err != nil {
				t.Logf("%s: the index %s is left out: %v", l.name, k.name, err)
			}
		}
		for i := range historyDocs {
			if _, err := shop.Collection(l.name).InsertOne(t.Context(), historyDoc(i)); err != nil {
				t.Errorf("%s: %v", l.name, err)
				break
			}
		}
	}
}

// makeHistory fills the folder data by two lives of the program bin, an earlier version of the server.
func makeHistory(t *testing.T, bin, data string) error {
	t.Helper()
	for life := range 2 {
		s, err := harness.LaunchBinary(bin, harness.Options{Data: data})
		if err != nil {
			return err
		}
		client, err := mongo.Connect(options.Client().ApplyURI(s.URI).SetServerSelectionTimeout(20 * time.Second))
		if err == nil {
			if life == 0 {
				fillHistory(t, client)
			} else {
				_, err = client.Database("shop").Collection("whole").UpdateMany(t.Context(), bson.D{{Key: "n", Value: 3}}, bson.D{{Key: "$set", Value: bson.D{{Key: "changed", Value: true}}}})
			}
			_ = client.Disconnect(t.Context())
		}
		if err != nil {
			s.Kill()
			return err
		}
		if err := s.Stop(); err != nil {
			return err
		}
	}
	return nil
}

// commits returns the hash of every step-th commit of the repository, the oldest first, and the position of each
// among all commits, from 1.
func commits(t *testing.T, root string, step int) (hashes []string, numbers []int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "rev-list", "--reverse", "--first-parent", "HEAD").Output()
	if err != nil {
		t.Skipf("no history of this module: %v", err)
	}
	for i, hash := range strings.Fields(string(out)) {
		if (i+1)%step == 0 {
			hashes, numbers = append(hashes, hash), append(numbers, i+1)
		}
	}
	return hashes, numbers
}

// buildAt builds the server program as of a commit of the repository, and returns its path. It returns an error if
// the build fails.
func buildAt(t *testing.T, root, hash string) (bin string, err error) {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	run := func(dir, name string, args ...string) error {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
		}
		return nil
	}
	if err := run(root, "git", "worktree", "add", "--detach", tree, hash); err != nil {
		return "", err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = exec.CommandContext(ctx, "git", "-C", root, "worktree", "remove", "--force", tree).Run()
	}()
	bin = filepath.Join(filepath.Dir(tree), "cantle")
	return bin, run(tree, "go", "build", "-o", bin, "./cmd/cantle")
}

var makeHistories = flag.Int("history", 0, "make the folder of one of each `n` commits")

// TestMakeHistory makes the folders in history/, which TestHistory opens in each run, by programs built from
// earlier commits:
//
//	go test ./compat-tests/faults/upgrade -run TestMakeHistory -history 50 -v -timeout 2h
func TestMakeHistory(t *testing.T) {
	if *makeHistories == 0 {
		t.Skip("-history says how many commits lie between two whose folders are to be made")
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	hashes, numbers := commits(t, root, *makeHistories)
	for i, hash := range hashes {
		to := filepath.Join("history", fmt.Sprintf("%04d-%.8s.zip", numbers[i], hash))
		t.Run(filepath.Base(to), func(t *testing.T) {
			if _, err := os.Stat(to); err == nil {
				t.Skip("it is there")
			}
			bin, err := buildAt(t, root, hash)
			if err != nil {
				t.Skip(err)
			}
			data := filepath.Join(t.TempDir(), "data")
			if err := makeHistory(t, bin, data); err != nil {
				t.Skip(err)
			}
			pack(t, data, to)
		})
	}
}

// TestHistory opens the folders that earlier programs have made; with CANTLE_LONG also folders of programs that it
// builds, one for each fifty commits. The contents must be as in a folder that this program makes: documents,
// every kind of index, text search and geo queries.
func TestHistory(t *testing.T) {
	list, err := filepath.Glob("history/*.zip")
	if err != nil || len(list) == 0 {
		t.Fatalf("no folders of the history: %v", err)
	}
	opened, renewed := 0, 0
	programme.RecordAtEnd(t, "upgrade", 0, func() (int, string) {
		return opened, fmt.Sprintf("%d folders of the history, of which %d indexes were made again", opened, renewed)
	})
	for _, from := range list {
		t.Run(strings.TrimSuffix(filepath.Base(from), ".zip"), func(t *testing.T) {
			data := t.TempDir()
			unpack(t, from, data)
			renewed += openHistory(t, data)
			opened++
		})
	}
	if !testenv.IsLong() || os.Getenv(harness.Planted) != "" { // a canary is found with these few
		return
	}
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	hashes, numbers := commits(t, root, historyStep)
	for i, hash := range hashes {
		name := fmt.Sprintf("%04d-%.8s", numbers[i], hash)
		if _, err := os.Stat(filepath.Join("history", name+".zip")); err == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			bin, err := buildAt(t, root, hash)
			if err != nil {
				t.Skip(err)
			}
			data := filepath.Join(t.TempDir(), "data")
			if err := makeHistory(t, bin, data); err != nil {
				t.Skip(err)
			}
			renewed += openHistory(t, data)
			opened++
		})
	}
}

// openHistory opens a folder of the history, compares it with a new one, and returns the number of indexes that
// the server has rebuilt because of their older versions.
func openHistory(t *testing.T, data string) (renewed int) {
	t.Helper()
	bin, err := harness.Binary()
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), bin, "check", "--data", data).CombinedOutput(); err != nil {
			t.Errorf("check %s: %v\n%s", when, err, out)
		}
	}
	check("before it is opened")
	for life := range 2 {
		s := launch(t, data)
		client, err := harness.Connect(s.URI)
		if err != nil {
			t.Fatal(err)
		}
		shop, fresh := client.Database("shop"), client.Database("fresh")
		built(t, shop)
		made := strings.Count(s.Log(), "the index is ready again")
		if renewed += made; life > 0 && made > 0 {
			t.Errorf("%d indexes are made again at each start", made)
		}
		names, err := shop.ListCollectionNames(t.Context(), bson.D{{Key: "name", Value: bson.D{{Key: "$in", Value: bson.A{"whole", "hashed", "ranged"}}}}})
		if err != nil || len(names) == 0 {
			t.Fatalf("the collections are %v, %v", names, err)
		}
		if life == 0 {
			anew(t, fresh)
		}
		for _, name := range names {
			compare(t, shop.Collection(name), fresh.Collection("whole"), name == "whole")
		}
		// The client disconnects first, because the server's stop would wait for it.
		if err := errors.Join(client.Disconnect(t.Context()), s.Stop()); err != nil {
			t.Fatal(err)
		}
	}
	check("after it was opened")
	return renewed
}

// built waits until no index is being built.
func built(t *testing.T, db *mongo.Database) {
	t.Helper()
	for {
		busy := false
		for _, l := range layouts {
			cur, err := db.RunCommandCursor(t.Context(), bson.D{{Key: "listIndexes", Value: l.name}, {Key: "includeIndexBuildInfo", Value: true}})
			if err != nil {
				continue // there is no such collection
			}
			for _, ix := range list(t, cur, nil) {
				busy = busy || ix.Lookup("indexBuildInfo").Type != 0
			}
		}
		if !busy {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// anew stores the contents of a folder of the history in another database of this server, for the comparison.
func anew(t *testing.T, db *mongo.Database) {
	t.Helper()
	for _, k := range kinds {
		spec := append(bson.D{{Key: "key", Value: k.key}, {Key: "name", Value: k.name}}, k.options...)
		must(t, db, bson.D{{Key: "createIndexes", Value: "whole"}, {Key: "indexes", Value: bson.A{spec}}})
	}
	docs := make([]any, historyDocs)
	for i := range docs {
		docs[i] = historyDoc(i)
	}
	if _, err := db.Collection("whole").InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

// compare runs the same queries on a collection of the history and on a new one, and compares the results.
func compare(t *testing.T, old, fresh *mongo.Collection, changed bool) {
	t.Helper()
	ids := func(c *mongo.Collection, filter bson.D, o ...options.Lister[options.FindOptions]) (out []string) {
		cur, err := c.Find(t.Context(), filter, append(o, options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}))...)
		if err != nil {
			t.Errorf("%s: %v: %v", c.Name(), filter, err)
			return nil
		}
		for _, d := range list(t, cur, nil) {
			out = append(out, d.Lookup("_id").String())
		}
		return out
	}
	sorted := func(list []string) string { slices.Sort(list); return strings.Join(list, " ") }
	var reply struct {
		Valid    bool
		Errors   []string
		Warnings []string
	}
	cmd := bson.D{{Key: "validate", Value: old.Name()}, {Key: "full", Value: true}}
	if err := old.Database().RunCommand(t.Context(), cmd).Decode(&reply); err != nil || !reply.Valid || len(reply.Warnings) > 0 {
		t.Errorf("%s: validate: %v %v %v", old.Name(), err, reply.Errors, reply.Warnings)
	}
	indexes, err := old.Indexes().ListSpecifications(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, ix := range indexes {
		have[ix.Name] = true
	}
	for _, k := range kinds {
		if k.filter == nil || !have[k.name] {
			continue
		}
		natural := sorted(ids(old, k.filter, options.Find().SetHint(bson.D{{Key: "$natural", Value: 1}})))
		if by := sorted(ids(old, k.filter, options.Find().SetHint(k.name))); by != natural || natural == "" || natural != sorted(ids(fresh, k.filter)) {
			t.Errorf("%s: by the index %s: %s\nby a scan: %s", old.Name(), k.name, by, natural)
		}
	}
	if have["collated"] {
		o := options.Find().SetHint("collated").SetCollation(&options.Collation{Locale: "de", Strength: 2})
		filter := bson.D{{Key: "word", Value: bson.D{{Key: "$lte", Value: "äpfel"}}}}
		if got, want := sorted(ids(old, filter, o)), sorted(ids(fresh, filter, o)); got != want || want == "" {
			t.Errorf("%s: by a collation: %s, want %s", old.Name(), got, want)
		}
	}
	if have["text"] {
		for _, word := range words {
			filter := bson.D{{Key: "$text", Value: bson.D{{Key: "$search", Value: word}}}}
			if got, want := sorted(ids(old, filter)), sorted(ids(fresh, filter)); got != want || want == "" {
				t.Errorf("%s: the word %s is in %s, want %s", old.Name(), word, got, want)
			}
		}
	}
	if have["2dsphere"] {
		point := bson.D{{Key: "type", Value: "Point"}, {Key: "coordinates", Value: bson.A{3, 4}}}
		near := bson.D{{Key: "at", Value: bson.D{{Key: "$near", Value: bson.D{{Key: "$geometry", Value: point}}}}}}
		if got, want := len(ids(old, near)), len(ids(fresh, near)); got != want || want == 0 {
			t.Errorf("%s: %d are near, want %d", old.Name(), got, want)
		}
	}
	if n, err := old.CountDocuments(t.Context(), bson.D{}); err != nil || n != historyDocs {
		t.Errorf("%s: %d documents are counted: %v", old.Name(), n, err)
	}
	all := func(c *mongo.Collection) string {
		cur, err := c.Find(t.Context(), bson.D{}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetProjection(bson.D{{Key: "changed", Value: 0}}))
		return fmt.Sprint(list(t, cur, err))
	}
	if got, want := all(old), all(fresh); got != want {
		t.Errorf("%s: %s", old.Name(), firstDifference(strings.ReplaceAll(got, "},{", "},\n{"), strings.ReplaceAll(want, "},{", "},\n{")))
	}
	if n, err := old.CountDocuments(t.Context(), bson.D{{Key: "changed", Value: true}}); err != nil || (n > 0) != changed {
		t.Errorf("%s: %d documents were changed: %v", old.Name(), n, err)
	}
}
