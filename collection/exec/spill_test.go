package exec

import (
	"context"
	"fmt"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
)

// If there are many runs, they are merged in rounds, so that the rows and buffers of the runs read at
// once stay within bounds. The rows come in the order of their keys, then of the runs.
func TestManyRunsAreMergedInRounds(t *testing.T) {
	env := mql.NewEnv(context.Background())
	env.Memory.Spill, env.Memory.SpillDir = true, t.TempDir()
	for _, c := range []struct{ runs, rowBytes, roundsAtOnce int }{{3, 10, 3}, {1000, 10, 8}, {20, 4 << 20, 2}} {
		r, err := NewRuns(env, "a test")
		if err != nil {
			t.Fatal(err)
		}
		b := bson.NewBuilder(nil)
		b.String("s", string(make([]byte, c.rowBytes)))
		doc := b.Doc()
		for run := range c.runs {
			r.Begin()
			for _, key := range []string{"a", fmt.Sprintf("b%04d", c.runs-run)} {
				if err := r.Write([]byte(key), doc, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := r.Start(env); err != nil {
			t.Fatal(err)
		}
		if got := len(r.set.heap); got != c.roundsAtOnce || r.Count() != c.runs {
			t.Errorf("%d runs: %d are read at once, want %d; told are %d", c.runs, got, c.roundsAtOnce, r.Count())
		}
		last, n := int64(0), 0
		for ; ; n++ {
			key, doc, _, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if doc == nil {
				break
			}
			if n < c.runs { // rows with the same key
				if seq := r.set.cur.row.seq; string(key) != "a" || seq <= last {
					t.Fatalf("row %d: key %s, number %d after %d", n, key, seq, last)
				}
				last = r.set.cur.row.seq
			} else if want := fmt.Sprintf("b%04d", n-c.runs+1); string(key) != want {
				t.Fatalf("row %d: key %s, want %s", n, key, want)
			}
		}
		if n != 2*c.runs {
			t.Errorf("%d rows, want %d", n, 2*c.runs)
		}
		r.Close()
	}
}
