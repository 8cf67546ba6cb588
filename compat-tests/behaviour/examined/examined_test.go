package examined

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/cantledb/cantle/compat-tests/rig/harness"
	"github.com/cantledb/cantle/internal/casefile"
)

// rowsMin detects a table that shrinks unnoticed.
const rowsMin = 1000

// TestExamined runs every query of every table, on one partition and on four, and compares what its plan examines with
// the bounds of its row, and its answer with that of a database without indexes.
// Manual: tutorial/analyze-query-plan
func TestExamined(t *testing.T) {
	paths, err := filepath.Glob("*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no case files: %v", err)
	}
	r := &rig{conn: harness.Start(t, harness.Options{}).Dial(t)}
	for _, db := range databases { // of an earlier run, if the server is an existing one
		if _, err := r.run(db, bson.D{{Key: "dropDatabase", Value: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	var tables []*casefile.Case
	for _, path := range paths {
		f, err := casefile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Cases {
			if c.Want() != "" {
				t.Errorf("%s: a case of this package has no output", c.Position())
			}
			switch c.Verb {
			case "data":
				if err := r.fill(c); err != nil {
					t.Fatalf("%s: %v", c.Position(), err)
				}
			case "table":
				tables = append(tables, c)
			default:
				t.Errorf("%s: no such verb: %s", c.Position(), c.Verb)
			}
		}
	}
	rows, open := 0, 0
	for _, c := range tables {
		t.Run(c.Name(c.File), func(t *testing.T) {
			all, still := r.table(t, c)
			rows, open = rows+all, open+still
		})
	}
	t.Logf("%d queries, of which %d are open", rows, open)
	if run := flag.Lookup("test.run").Value.String(); rows < rowsMin && !strings.Contains(run, "/") {
		t.Errorf("%d queries, expected %d at least", rows, rowsMin)
	}
}

// table runs the queries of one table, and returns how many there are, and how many of these are open.
func (r *rig) table(t *testing.T, c *casefile.Case) (rows, open int) {
	if err := r.index(c); err != nil {
		t.Fatalf("%s: %v", c.Position(), err)
	}
	on, _ := c.Get("on")
	for _, a := range c.Args {
		if queries[a.Key] == nil {
			if a.Key != "on" && a.Key != "index" {
				t.Errorf("%s:%d: no such query: %s", c.File, a.Line, a.Key)
			}
			continue
		}
		q, err := parseRow(on, a)
		if err != nil {
			t.Errorf("%s: %v", c.File, err)
			continue
		}
		rows++
		if q.open != "" {
			open++
		}
		t.Run(fmt.Sprint(q.line), func(t *testing.T) {
			var over []string
			for _, db := range []string{one, four} {
				if text := r.measure(t, db, q); text != "" {
					over = append(over, text)
				}
			}
			for _, text := range over {
				if q.open == "" {
					t.Error(text)
				} else {
					t.Logf("open: %s", text)
				}
			}
			if q.open != "" && len(over) == 0 {
				t.Errorf("the query examines no more than its bounds: the mark %q can go", "open: "+q.open)
			}
			r.compare(t, q)
		})
	}
	return rows, open
}

// measure explains a query, and returns a text if its plan is not within the bounds.
func (r *rig) measure(t *testing.T, db string, q *row) string {
	p, err := r.explain(db, q)
	if err != nil {
		t.Fatalf("%s: %s: %v", db, q.text, err)
	}
	keys, docs := q.keys, q.docs
	if db == four {
		keys, docs = q.four[0], q.four[1]
	}
	over := p.over(keys, docs, q)
	if len(over) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %d keys and %d documents, at most %d and %d: %s, plan %v: %s", db, p.keys, p.docs, keys, docs, strings.Join(over, ", "), p.stages, q.text)
}

// over returns in which respects a plan is not within the bounds of a query.
func (p *plan) over(keys, docs int64, q *row) (over []string) {
	if p.keys > keys || p.docs > docs {
		over = append(over, "too many")
	}
	for _, name := range q.present {
		if !slices.Contains(p.stages, name) {
			over = append(over, "no "+name)
		}
	}
	for _, name := range q.absent {
		if slices.Contains(p.stages, name) {
			over = append(over, name)
		}
	}
	if strings.Contains(q.text, "ookup: {from") && !p.joined {
		over = append(over, "no counters of the other collection")
	}
	return over
}

// compare compares the answers of all databases.
func (r *rig) compare(t *testing.T, q *row) {
	dbs := databases
	if q.needsIndex() {
		dbs = dbs[1:]
	}
	var first answer
	for i, db := range dbs {
		a, err := r.answer(db, q)
		if err != nil {
			t.Fatalf("%s: %s: %v", db, q.text, err)
		}
		if i == 0 {
			first = a
		} else if d := first.difference(a); d != "" {
			t.Errorf("ANSWER of %s differs from that of %s: %s\n  %s", db, dbs[0], q.text, d)
		}
	}
}
