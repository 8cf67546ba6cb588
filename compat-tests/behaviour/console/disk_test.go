package console

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// measured holds the sizes in /collections and /collection.
type measured struct {
	NS             string
	Bytes          int64
	DiskBytes      *int64
	IndexDiskBytes *int64
	IndexDisk      map[string]int64
}

// TestDiskSizes checks that the disk sizes in the console differ from those of serverStatus by at most a factor of
// two, that those of a collection and its index are plausible, and that the page shows them.
func TestDiskSizes(t *testing.T) {
	s := startLarge(t)
	var d struct {
		DiskBytes, ChangeLogBytes, KeptLogBytes, DiskFreeBytes, DiskTotalBytes, DiskReserveBytes int64
		RefusesWrites                                                                            bool
	}
	s.get("/api/v1/disk").into(&d)
	engine := s.run("admin", `{"serverStatus": 1}`)["storageEngine"].(bson.D)
	for name, n := range map[string]int64{"diskBytes": d.DiskBytes, "changeLogBytes": d.ChangeLogBytes, "keptLogBytes": d.KeptLogBytes} {
		i := slices.IndexFunc(engine, func(e bson.E) bool { return e.Key == name })
		if told := engine[i].Value.(int64); told < n/2 || told > 2*n { // background work goes on between the two reads
			t.Errorf("%s: %d, and serverStatus has %d", name, n, told)
		}
	}
	if d.ChangeLogBytes == 0 || d.ChangeLogBytes > d.DiskBytes || d.DiskReserveBytes == 0 || d.DiskFreeBytes > d.DiskTotalBytes || d.RefusesWrites {
		t.Errorf("%+v", d)
	}
	var all struct{ Collections []measured }
	s.get("/api/v1/collections").into(&all)
	i := slices.IndexFunc(all.Collections, func(m measured) bool { return m.NS == "test.large" })
	var one measured
	s.get("/api/v1/collection?ns=test.large").into(&one)
	for _, m := range []measured{all.Collections[i], one} {
		if m.DiskBytes == nil || *m.DiskBytes < 100 || *m.DiskBytes > 2*m.Bytes || *m.IndexDiskBytes < 1000 {
			t.Errorf("%+v", m)
		}
	}
	if n, has := one.IndexDisk["n_1"], len(one.IndexDisk); has != 1 || n != *one.IndexDiskBytes {
		t.Errorf("%v", one.IndexDisk)
	}
	b := browse(t, s, 1280, 900)
	b.open("#/collections")
	b.check("the change log has a size", "/^[0-9.]+ [KM]B$/.test(document.querySelector('[data-number=change-log]').innerText)")
	b.check("so has the collection on the disk", "[...document.querySelectorAll('thead th')].some((h, i) => h.innerText.startsWith('Indexes on disk') && /B$/.test(document.querySelectorAll('tbody tr')[0].children[i].innerText))")
	b.check("nothing is refused", "!document.querySelector('.problem')")
	b.picture("disk")
	b.open("#/collections?ns=test.large")
	b.click("#tab-indexes")
	b.check("an index has its size", "[...document.querySelectorAll('tbody tr')].some((r) => r.innerText.includes('n_1') && /B$/.test(r.lastElementChild.innerText))")
}

// startLarge starts a server with files and a console. Its collection of 2,000 documents and their index are flushed
// to disk, so that sizes on disk exist.
func startLarge(t *testing.T) *server {
	t.Helper()
	s := startWith(t, nil, "--data", t.TempDir())
	s.run("test", `{"createIndexes": "large", "indexes": [{"key": {"n": 1}, "name": "n_1"}]}`)
	var docs []string
	for i := range 2000 {
		docs = append(docs, fmt.Sprintf(`{"_id": %d, "n": %d, "text": "%064d"}`, i, i*7919%2000, i))
	}
	s.run("test", `{"insert": "large", "documents": [%s]}`, strings.Join(docs, ","))
	s.run("test", `{"compact": "large"}`) // writes the memtable to disk
	return s
}
