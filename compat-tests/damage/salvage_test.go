package damage

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// lostMax is how many documents one damaged block can hold, with the blocks beside it
// where 4 KB were zeroed at their border.
const lostMax = 120

// salvage saves what is left, compares it with the model, and looks that the damaged folder
// is as it was.
func (c *counts) salvage(t *testing.T, bin, dir string, m *made, in injury, found bool) {
	t.Helper()
	before := fingerprint(t, dir)
	out := filepath.Join(filepath.Dir(dir), "saved")
	text, status := run(t, bin, "salvage", "--data", dir, "--out", out)
	if status != 0 {
		t.Fatalf("salvage: status %d: %s", status, text)
	}
	if after := fingerprint(t, dir); after != before {
		t.Error("salvage or check has changed the folder")
	}
	for _, row := range regexp.MustCompile(`(?m)^shop\.\w+ +\d+ +(\d+) +(\d+)`).FindAllStringSubmatch(text, -1) {
		log, _ := strconv.Atoi(row[1])
		older, _ := strconv.Atoi(row[2])
		c.fromLog, c.older = c.fromLog+log, c.older+older
	}
	lost := 0
	for _, ns := range namespaces {
		seen := map[int32]bool{}
		path := filepath.Join(out, strings.ReplaceAll(ns, ".", "/")+".bson")
		_, err := os.Stat(path)
		if err != nil && strings.Contains(in.what, "all behind") && !strings.Contains(text, "its name is lost") {
			continue // cut off before the first document
		}
		if err != nil && strings.Contains(text, "its name is lost") {
			lost += nameless(t, out, m.docs[ns])
			continue
		}
		for _, doc := range documents(t, path) {
			id, _ := bson.Raw(doc).Lookup("_id").Int32OK()
			want, ok := m.docs[ns][id]
			past, changed := m.past[ns][id]
			switch {
			case ok && doc == want:
				seen[id] = true
				c.saved++
			case in.kind == "log" && changed && (doc == past || known(m, ns, id, doc)):
			case in.kind == "MANIFEST" && strings.Contains(text, "documents that were deleted shortly before"):
				t.Errorf("salvage without a list of tables: %s %d is %q, not %q", ns, id, bson.Raw(doc), bson.Raw(want))
			default:
				t.Errorf("salvage: %s %d is %q, not %q", ns, id, bson.Raw(doc), bson.Raw(want))
			}
		}
		for id := range m.docs[ns] {
			if _, last := m.past[ns][id]; !seen[id] && !(in.kind == "log" && last) {
				lost++
			}
		}
	}
	c.lost += lost
	if lost > 0 && (in.kind != "sst" || !found) || lost > lostMax && !strings.Contains(in.what, "all behind") {
		t.Errorf("salvage lost %d documents: %s\n%s", lost, in, text)
	}
}

// documents reads a file of a dump.
func documents(t *testing.T, path string) (docs []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	for len(b) >= 4 {
		n := min(int(binary.LittleEndian.Uint32(b)), len(b))
		docs = append(docs, string(b[:n]))
		b = b[n:]
	}
	return docs
}

// fingerprint tells whether a folder has changed.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(filepath.Join(dir, "store"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out.WriteString(filepath.Base(path) + string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// nameless returns how many documents are not among those of collections whose names were
// lost with the catalog.
func nameless(t *testing.T, out string, want map[int32]string) (lost int) {
	t.Helper()
	saved := map[string]bool{}
	list, _ := filepath.Glob(filepath.Join(out, "salvaged", "*.bson"))
	for _, path := range list {
		for _, doc := range documents(t, path) {
			saved[doc] = true
		}
	}
	for _, doc := range want {
		if !saved[doc] {
			lost++
		}
	}
	return lost
}
