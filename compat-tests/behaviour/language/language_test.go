package language

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cantledb/cantle/collection/release"
	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
)

// rooms are the packages whose cases are run.
var rooms = []string{"agg", "expr", "match", "mql", "order", "project", "update"}

// verbs are the verbs that can be run on a server.
var verbs = map[string]func(*testing.T, *layout, *casefile.Case) string{
	"apply":     askApply,
	"collation": askCollation,
	"eval":      askEval,
	"match":     askMatch,
	"pattern":   askPattern,
	"project":   askProject,
	"run":       askRun,
	"sort":      askSort,
	"upsert":    askUpsert,
}

// casesMin detects a corpus that shrinks unnoticed.
const casesMin = 1500

func TestLanguage(t *testing.T) {
	ways := map[release.Release][]*layout{}
	asked := 0
	for _, room := range rooms {
		paths, err := filepath.Glob(filepath.Join("..", "..", "..", "collection", room, "testdata", "*.txt"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no cases of collection/%s: %v", room, err)
		}
		for _, path := range paths {
			f, err := casefile.Open(path)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, c := range f.Cases {
				ask, ok := verbs[c.Verb]
				if !ok {
					continue
				}
				for _, c := range c.Runs() {
					r := c.Release()
					if ways[r] == nil {
						ways[r] = layouts(harness.StartAt(t, r).Dial(t))
					}
					t.Run(room+"/"+c.Name(filepath.Base(path)), func(t *testing.T) {
						asked++
						everywhere(t, ways[r], c, ask)
					})
				}
			}
		}
	}
	if run := flag.Lookup("test.run").Value.String(); asked < casesMin && !strings.Contains(run, "/") {
		t.Errorf("%d cases were asked, expected %d at least", asked, casesMin)
	}
}

// everywhere runs one case in every layout.
func everywhere(t *testing.T, ways []*layout, c *casefile.Case, ask func(*testing.T, *layout, *casefile.Case) string) {
	if reason, ok := c.Get("wire"); ok {
		t.Skip(reason)
	}
	for _, l := range ways {
		if got := ask(t, l, c); strings.TrimSuffix(got, "\n") != c.Want() {
			t.Errorf("%s, layout %s (- expected, + got):\n%s", c.Position(), l.name, casefile.Diff(c.Want(), got))
		}
	}
}
