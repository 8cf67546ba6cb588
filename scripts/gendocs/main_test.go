package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/wire/rooms"
)

// TestInStep fails if the generated files differ from those that the current tables would give.
func TestInStep(t *testing.T) {
	if err := run(filepath.Join("..", ".."), true); err != nil {
		t.Error(err)
	}
}

func TestRender(t *testing.T) {
	got := string(render([]table{{title: "Things", source: "a.Things", rows: []row{
		{"$a", "", "reference/a", ""}, {"b", "", "cosmos", "why"}, {"$c", "8.2", "reference/c", ""}, {"$d", "4.2", "reference/d", "why"},
	}}}))
	for _, want := range []string{
		"| Things | 2 | 2 |\n",
		"\n- [`$a`](https://www.mongodb.com/docs/v8.0/reference/a/)\n",
		"\n- ~~[`b`](" + cosmosPage + ")~~\n",
		"\n- [`$c`](https://www.mongodb.com/docs/v8.3/reference/c/) 8.2\n",
		"\n- ~~[`$d`](https://www.mongodb.com/docs/v8.0/reference/d/)~~ 4.2\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// The releases in the column since of the tables have MongoDB's form; none is older than sinceMin, and none newer
// than the newest known release.
func TestSince(t *testing.T) {
	form := regexp.MustCompile(`^[0-9]\.[0-9]$`)
	told := 0
	for _, list := range tables() {
		for _, r := range list.rows {
			if r.since == "" {
				continue
			}
			told++
			if !form.MatchString(r.since) || r.since < sinceMin || r.since > manuals[len(manuals)-1] {
				t.Errorf("%s: %s is there since %q", list.title, r.name, r.since)
			}
			if r.page == "cosmos" {
				t.Errorf("%s: %s is not MongoDB's, but there since %s", list.title, r.name, r.since)
			}
		}
	}
	if told < 150 {
		t.Errorf("%d names have a release", told)
	}
}

// Changes of releases are printed in order, each with a link to its source.
func TestRenderChanges(t *testing.T) {
	got := string(renderChanges([]release.Changed{
		{Since: release.V8_3, Says: "A|b.", Source: "SERVER-1"}, {Since: release.V8_0, Says: "C.", Source: "release-notes/8.0"},
	}))
	want := "| 8.0 | C. | [release-notes/8.0](https://www.mongodb.com/docs/v8.0/release-notes/8.0) |\n" +
		`| 8.3 | A\|b. | [SERVER-1](https://jira.mongodb.org/browse/SERVER-1) |` + "\n"
	if !strings.HasSuffix(got, "|---|---|---|\n"+want) {
		t.Errorf("got\n%s", got)
	}
	for _, r := range release.Behaviours {
		if r.Since > release.V9_0 || !strings.Contains(string(renderChanges(release.Behaviours[:])), r.Source) {
			t.Errorf("%+v is not told", r)
		}
	}
}

func TestClients(t *testing.T) {
	path := filepath.Join(t.TempDir(), "matrix.txt")
	if err := os.WriteFile(path, []byte("# head\n\nrow a The A\na one x=ok y=ok\na two x=ok y=FAIL\n\nrow b B\nb two x=skip y=ok\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, areas, err := readClients(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := between([]byte("before\n"+clientsBegin+"old\n"+clientsEnd+"after\n"), clientsBegin, clientsEnd, renderClients(rows, areas))
	want := "before\n" + clientsBegin + "| | The A | B |\n|---|---|---|\n| one | ✓ |  |\n| two | ✗ | (✓) |\n" + clientsEnd + "after\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}

// No table of the server has a name that the page of differences calls absent, and each reason for a refusal belongs to
// a row.
func TestDifferences(t *testing.T) {
	have, reasons := map[string]bool{}, map[string]bool{}
	for _, list := range tables() {
		for _, r := range list.rows {
			have[list.title+" "+r.name] = true
			reasons[r.refused] = true
		}
	}
	for _, a := range absences {
		for _, name := range a.names {
			if have[a.table+" "+name] {
				t.Errorf("%s is not absent any more: remove it from absences", name)
			}
		}
	}
	for function, why := range refusing {
		if !reasons[why] {
			t.Errorf("no row has the function %s", function)
		}
	}
}

// A stage and some commands that answer every use with an error are printed as refused, and others are not. Such
// functions are found by their names, so a renamed one would turn a refused feature into a supported one.
func TestRefuses(t *testing.T) {
	found := map[string]bool{}
	for _, list := range tables() {
		for _, r := range list.rows {
			found[r.name] = r.refused != ""
		}
	}
	for name, want := range map[string]bool{"$search": true, "addShard": true, "movePrimary": true, "replSetGetConfig": false, "find": false, "$match": false} {
		if got, ok := found[name]; !ok || got != want {
			t.Errorf("%s: refused %v, want %v", name, got, want)
		}
	}
	if len(rooms.Commands()) < 100 {
		t.Errorf("only %d commands", len(rooms.Commands()))
	}
}
