package damage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
)

// TestDamagedLargeDocument flips a bit of a stored document of 15 MB, and checks the results of check, salvage and
// the reads of a server. None may search for the flipped bit, as the engine itself does for ten minutes at every
// read.
func TestDamagedLargeDocument(t *testing.T) {
	bin, err := harness.Build("")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	want := map[int32]string{}
	rng := rand.New(rand.NewPCG(1, 2))
	s := serve(t, bin, dir)
	for id := range int32(4) {
		text := make([]byte, 15<<20)
		for i := range text {
			text[i] = byte('0' + rng.IntN(64)) // compresses badly
		}
		copy(text[7<<20:], fmt.Sprint(marker[:len(marker)-1], id))
		doc := bson.D{{Key: "_id", Value: id}, {Key: "s", Value: string(text)}}
		want[id] = raw(t, doc)
		client := s.client(t)
		if _, err := client.Database("shop").Collection("large").InsertOne(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
		_ = client.Disconnect(t.Context())
		s.stop(t)
		s = serve(t, bin, dir) // writes the log into a table
	}
	s.stop(t)
	(&made{dir: dir}).forgetful(t)
	flipLarge(t, dir)

	text, status := run(t, bin, "check", "--data", dir)
	if status != 1 || !strings.Contains(text, "at most 1 document is lost: documents of shop.large with _id 2") {
		t.Errorf("check: status %d: %s", status, text)
	}
	out := filepath.Join(t.TempDir(), "saved")
	if text, status := run(t, bin, "salvage", "--data", dir, "--out", out); status != 0 {
		t.Errorf("salvage: status %d: %s", status, text)
	}
	for _, doc := range documents(t, filepath.Join(out, "shop", "large.bson")) {
		id, _ := bson.Raw(doc).Lookup("_id").Int32OK()
		if doc != want[id] {
			t.Errorf("salvage: document %d is wrong", id)
		}
		delete(want, id)
	}
	if len(want) != 1 {
		t.Errorf("salvage lost %d documents, not one", len(want))
	}
	for _, flags := range [][]string{nil, {"--serve-damaged"}} {
		s := serve(t, bin, dir, flags...)
		client := s.client(t)
		coll := client.Database("shop").Collection("large")
		refused := 0
		for range 5 {
			for id := range int32(4) {
				_, err := all(t.Context(), coll, bson.D{{Key: "_id", Value: id}})
				refused += judge(err, t.Errorf)
			}
		}
		if _, err := all(t.Context(), coll, bson.D{}); err == nil {
			t.Error("all documents are read, of which one is damaged")
		}
		if refused != 5 {
			t.Errorf("%d of 20 reads are refused, five want the damaged document", refused)
		}
		_ = client.Disconnect(t.Context())
		s.stop(t)
	}
}

// marker is a text in the middle of one large document, by which the document's bytes are found in a table.
const marker = "the document number 2"

// flipLarge flips a bit of the large document in exactly one of the tables.
func flipLarge(t *testing.T, dir string) {
	t.Helper()
	tables, _ := filepath.Glob(filepath.Join(dir, "store", "*.sst"))
	for _, path := range tables {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; ; at++ { // a match may lie in the change log, which has the document as well
			next := bytes.Index(b[at:], []byte(marker))
			if next < 0 {
				break
			}
			at += next
			if lost := gaps(t, path, int64(at), int64(at)+1); len(lost) != 1 || lost[0].first[0] != 'r' {
				continue
			}
			b[at] ^= 1
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no table has the document")
}
