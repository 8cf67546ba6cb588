package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Names with escape sequences cannot control the user's terminal: each verb except backup and salvage is run with
// such names of databases, collections, fields and indexes, and prints them escaped; only the data of dump and export
// may contain them.
func TestNamesAreShownPlain(t *testing.T) {
	uri, db := start(t)
	const evil = "x\x1b]0;evil\x07\u009b31m\u202e\x7f"
	quoted, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	name := string(quoted)
	run(t, db, `{insert: `+name+`, documents: [{_id: `+name+`, `+name+`: `+name+`}]}`)
	run(t, db, `{createIndexes: `+name+`, indexes: [{key: {`+name+`: 1}, name: `+name+`}]}`)
	run(t, db, `{find: `+name+`, filter: {`+name+`: 1}, comment: `+name+`}`)
	folder := t.TempDir()
	t.Chdir(folder)
	document := filepath.Join(folder, "d.json")
	if err := os.WriteFile(document, []byte(`{`+name+`: 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	coll := "test." + evil
	ran := 0
	for _, v := range Verbs() {
		for _, args := range [][]string{
			{uri}, {uri, coll}, {uri, coll, "--json"}, {uri, evil}, {uri, coll, document}, {uri, "--once"}, {uri, "--once", "--json"}, {uri, "--out", filepath.Join(folder, "dump")},
			{uri, filepath.Join(folder, "dump")}, {uri, coll, "--out", filepath.Join(folder, "out"+v.Name())}, {evil}, {"--" + evil}, {uri, coll, "--query", `{` + name + `: 1}`},
			{document}, {uri, coll, "--keys", evil}, {uri, coll, evil},
		} {
			if v.Name() == "backup" || v.Name() == "salvage" || v.Name() == "check" && args[0] == uri {
				continue // which need a folder with data
			}
			var out, errs strings.Builder
			verbStatus(t, v.Name(), "", &out, &errs, args...)
			ran++
			if text := out.String() + errs.String(); strings.ContainsAny(text, "\x1b\x07\x7f\u009b\u202e") && !isData(v.Name()) {
				t.Errorf("%s %q prints %q", v.Name(), args[1:], text)
			}
			if strings.ContainsAny(errs.String(), "\x1b\x07\x7f\u009b\u202e") {
				t.Errorf("%s %q tells %q", v.Name(), args[1:], errs.String())
			}
		}
	}
	if ran < 100 {
		t.Errorf("%d runs", ran)
	}
}

// isData reports whether a verb's output is data, such as a dump, in which names are not escaped.
func isData(verb string) bool { return verb == "export" || verb == "dump" }
