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

// salvage runs `cantle salvage` on the damaged folder dir, compares its output with the model, and checks that the
// folder itself is unchanged.
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
	lost, outside := 0, 0
	mayLose := m.mayLose(t, in)
	for _, ns := range namespaces {
		seen := c.savedOf(t, out, text, ns, m, in)
		aside := m.setAsideDocs(t, out, ns)
		for id := range m.docs[ns] {
			if _, last := m.past[ns][id]; seen[id] || in.kind == "log" && last {
				continue
			}
			if !aside[id] {
				lost++
			}
			if !mayLose(ns, id) {
				if outside++; outside == 1 {
					t.Errorf("salvage lost or set aside %s %d, which does not lie in the damaged block: %s\n%s", ns, id, in, text)
				}
			}
		}
	}
	c.lost, c.outside = c.lost+lost, c.outside+outside
	if lost > 0 && !found {
		t.Errorf("salvage lost %d documents, and check found nothing: %s\n%s", lost, in, text)
	}
	told := regexp.MustCompile(`(?m)(No|At most \d+) documents? (?:is|are) lost\.`).FindStringSubmatch(text)
	most, _ := strconv.Atoi(strings.TrimPrefix(append(told, "", "")[1], "At most "))
	if told != nil && lost > most {
		t.Errorf("salvage lost %d documents and tells of at most %d: %s\n%s", lost, most, in, text)
	}
}

// savedOf returns the _ids of the documents of a collection that salvage has saved, and checks that these
// documents are right.
func (c *counts) savedOf(t *testing.T, out, text, ns string, m *made, in injury) (seen map[int32]bool) {
	t.Helper()
	seen = map[int32]bool{}
	list := []string{filepath.Join(out, strings.ReplaceAll(ns, ".", "/")+".bson")}
	nameless := strings.Contains(text, "(name lost)")
	if _, err := os.Stat(list[0]); err != nil && nameless {
		list, _ = filepath.Glob(filepath.Join(out, "salvaged", "*.bson"))
	} else if err != nil && in.to == toTheEnd {
		return seen // cut off before the first document
	}
	for _, path := range list {
		for _, doc := range documents(t, path) {
			id, _ := bson.Raw(doc).Lookup("_id").Int32OK()
			want, ok := m.docs[ns][id]
			past, changed := m.past[ns][id]
			switch {
			case ok && doc == want:
				seen[id] = true
				c.saved++
			case len(list) > 1 || nameless: // that of another collection
			case in.kind == "log" && changed && (doc == past || isReplacedVersion(m, ns, id, doc)):
			case in.kind == "MANIFEST" && strings.Contains(text, "recently deleted documents"):
				t.Errorf("salvage without a list of tables: %s %d is %q, not %q", ns, id, bson.Raw(doc), bson.Raw(want))
			default:
				t.Errorf("salvage: %s %d is %q, not %q", ns, id, bson.Raw(doc), bson.Raw(want))
			}
		}
	}
	return seen
}

// setAsideDocs returns the documents that salvage has set aside, because a newer version might have been in a
// damaged block: by _id, whether each is right.
func (m *made) setAsideDocs(t *testing.T, out, ns string) map[int32]bool {
	t.Helper()
	right := map[int32]bool{}
	path := filepath.Join(out+"-older", strings.ReplaceAll(ns, ".", "/")+".bson")
	if _, err := os.Stat(path); err != nil {
		return right
	}
	for _, doc := range documents(t, path) {
		id, _ := bson.Raw(doc).Lookup("_id").Int32OK()
		right[id] = m.docs[ns][id] == doc
	}
	return right
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

// fingerprint returns the names and contents of the store's files in a data folder as one text, by which the test
// detects changes.
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
