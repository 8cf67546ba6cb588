package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/ratelimit"
)

// parsed parses an expression for a new command, whose memory counts in all, and returns the Env of the command too.
func parsed(t *testing.T, all *ratelimit.Memory, text string) (*mql.Env, expr.Expr) {
	t.Helper()
	v, err := ejson.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	env := newEnv(t.Context())
	env.Memory.Reset(mql.StageBytesMax, all)
	e, err := expr.Parse(env, v)
	if err != nil {
		t.Fatal(text, err)
	}
	return env, e
}

// The values that loops such as $map make for one element after the other, or for one document after the other,
// do not add up: only live values count. In total, each of these expressions makes several times the available
// memory.
func TestOnlyWhatLivesCounts(t *testing.T) {
	docs := make([]string, 800)
	for i := range docs {
		docs[i] = fmt.Sprintf("{f%d: 1, x: %d}", i, i)
	}
	doc, err := ejson.Parse(`{s: "` + strings.Repeat("a,", 4000) + `", docs: [` + strings.Join(docs, ",") + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{$reduce: {input: {$range: [0, 3000]}, initialValue: [], in: {$concatArrays: ["$$value", ["$$this"]]}}}`,
		`{$reduce: {input: {$range: [0, 3000]}, initialValue: "", in: {$concat: ["$$value", "0123456789"]}}}`,
		`{$mergeObjects: "$docs"}`,
		`{$reduce: {input: "$docs", initialValue: {}, in: {$mergeObjects: ["$$value", "$$this"]}}}`,
		`{$map: {input: {$range: [0, 500]}, in: {$size: {$split: ["$s", ","]}}}}`,
		`{$filter: {input: {$range: [0, 500]}, cond: {$gt: [{$size: {$map: {input: {$split: ["$s", ","]}, in: "x"}}}, 1]}}}`,
	} {
		all := ratelimit.NewMemory(4 << 20)
		env, e := parsed(t, all, text)
		var s expr.Scratch
		for range 2 {
			s.Reset()
			if _, err := e.Eval(env, doc, &s); err != nil {
				t.Errorf("%.80s: %v", text, err)
			}
		}
		s.Close()
		env.Memory.Release()
		if st := all.Stats(); st.Used != 0 || st.Refused != 0 {
			t.Errorf("%.80s: %+v", text, st)
		}
	}
}

// The values computed for a row are freed with the next row, and a closed Scratch holds nothing.
func TestRowsReleaseMemory(t *testing.T) {
	all := ratelimit.NewMemory(16 << 20)
	env, e := parsed(t, all, `{$size: {$range: ["$from", 300000]}}`)
	var s expr.Scratch
	long, short := bson.NewBuilder(nil), bson.NewBuilder(nil)
	long.Int32("from", 0)
	short.Int32("from", 299_999)
	rows := [2]bson.Raw{long.Doc(), short.Doc()}
	for i := range 20 {
		s.Reset()
		if _, err := e.Eval(env, rows[i%2], &s); err != nil {
			t.Fatal(i, err)
		}
		if used := env.Memory.Used(); i%2 == 0 && used < 3<<20 || i%2 == 1 && used > 2<<20 {
			t.Errorf("row %d: %d bytes are counted", i, used)
		}
	}
	s.Close()
	if used := env.Memory.Used(); used != 0 {
		t.Errorf("%d bytes are counted of a Scratch that is closed", used)
	}
}

// Large constants that operators make from few bytes count in the command's memory, even before a row is
// read.
func TestConstantsCount(t *testing.T) {
	all := ratelimit.NewMemory(32 << 20)
	env := newEnv(t.Context())
	env.Memory.Reset(mql.StageBytesMax, all)
	v, err := ejson.ParseValue(`{$range: [0, 300000]}`)
	if err != nil {
		t.Fatal(err)
	}
	var kept []expr.Expr
	for err == nil && len(kept) < 100 {
		var e expr.Expr
		e, err = expr.Parse(env, v)
		kept = append(kept, e)
	}
	if mongoerr.CodeOf(err) != mongoerr.ExceededMemoryLimit || len(kept) < 4 {
		t.Errorf("%d constants of four megabytes: %v", len(kept), err)
	}
	env.Memory.Release()
	if used := all.Stats().Used; used != 0 {
		t.Errorf("%d bytes are counted when the command has ended", used)
	}
}
