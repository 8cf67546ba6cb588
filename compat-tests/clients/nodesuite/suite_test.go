package nodesuite

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cantledb/cantle/compat-tests/clients/scoreboard"
)

// TestParse checks the results that are read from mocha's report.
func TestParse(t *testing.T) {
	entry := func(file, title string) string {
		return `{"fullTitle": "` + title + `", "file": "/x/driver/test/integration/` + file + `", "err": {"message": "why", "stack": "where"}}`
	}
	report := `{"passes": [` + entry("crud/a.test.ts", "A does: b") + `,` + entry("crud/a.test.ts", "twice") + `],
"pending": [` + entry("crud/deep/b.test.ts", "B  c") + `],
"failures": [` + entry("crud/a.test.ts", "twice") + `,` + entry("crud/a.test.ts", "twice") + `,` + entry("crud/a.test.ts", "crypt shared library loads") + `]}`
	a := &mocha{Run: scoreboard.Run{On: scoreboard.ReplicaSet}, titles: map[string]string{}}
	got, err := a.parse([]byte(report))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(got)) {
		all = append(all, name+" "+got[name].Outcome+" "+strings.ReplaceAll(strings.Join(got[name].Said, ","), "\n", "|"))
	}
	want := `crud@replicaset::a.test.ts::A_does:_b PASS 
crud@replicaset::a.test.ts::twice FAIL why|where,why|where
crud@replicaset::deep/b.test.ts::B_c SKIP `
	if s := strings.Join(all, "\n"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	if title := a.titles["crud@replicaset::deep/b.test.ts::B_c"]; title != "B  c" {
		t.Errorf("asked for again: %q", title)
	}
	for _, text := range []string{"", "{}"} {
		if got, err := a.parse([]byte(text)); err == nil && len(got) > 0 {
			t.Errorf("%q is taken for a report", text)
		}
	}
}
