package index_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/bson/keystring"
	"github.com/cantledb/cantle/bson/path"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/index"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile"
)

// TestCases runs the case files. Their verbs print: spec, a parsed specification as listIndexes does; keys, the
// entries of documents; conflict, the result of a request for an index beside an existing one.
func TestCases(t *testing.T) {
	casefile.Run(t, "testdata", func(t *testing.T, c *casefile.Case) string {
		env := mql.NewEnv(context.Background())
		env.Release, env.ServerRelease = c.Release(), c.Release()
		var out strings.Builder
		for _, text := range c.All("spec") {
			s, err := index.ParseSpec(env, bsontest.Doc(t, text))
			switch {
			case err != nil:
				out.WriteString(failure(err))
			case c.Verb == "spec":
				out.WriteString(ejson.String(s.Raw()) + "\n")
				again, err := index.ParseSpec(env, s.Raw())
				if err != nil || !bytes.Equal(again.Raw(), s.Raw()) {
					t.Errorf("printed specification does not parse to itself: %v, %v", again, err)
				}
			case c.Verb == "keys":
				for _, d := range c.All("doc") {
					out.WriteString(keys(t, env, s, bsontest.Doc(t, d)))
				}
			case c.Verb == "conflict":
				old, _ := c.Get("existing")
				o, err := index.ParseSpec(env, bsontest.Doc(t, old))
				if err != nil {
					t.Fatal(err)
				}
				same, err := s.Conflict(o)
				if err != nil {
					out.WriteString(failure(err))
				} else {
					fmt.Fprintf(&out, "same: %v\n", same)
				}
			}
		}
		return out.String()
	})
}

func failure(err error) string {
	e := mongoerr.From(err)
	return fmt.Sprintf("error %d %s\n", e.Code, e.Code)
}

// keys prints the entries of one document on one line.
func keys(t *testing.T, env *mql.Env, s *index.Spec, doc bson.Raw) string {
	var out []string
	var last []byte
	arrays, err := s.Keys(env, doc, &expr.Scratch{}, func(values, bits []byte) error {
		if last != nil && bytes.Compare(last, values) >= 0 {
			t.Errorf("entries not ascending")
		}
		last = bytes.Clone(values)
		b := bson.NewArrayBuilder(nil)
		rest, err := keystring.Decode(b, values, s.Dirs(), bits)
		if err != nil || len(rest) != 0 {
			return fmt.Errorf("decoding %x: %v, rest %x", values, err, rest)
		}
		out = append(out, ejson.ValueString(b.Doc().ArrayValue()))
		return nil
	})
	if err != nil {
		return failure(err)
	}
	line := strings.Join(out, " ")
	if len(out) == 0 {
		line = "none"
	}
	if arrays.Any() {
		b := bson.NewBuilder(nil)
		arrays.AppendPaths(b, s.Fields())
		line += "  arrays " + ejson.String(b.Doc())
	}
	return line + "\n"
}

func TestAllocsKeys(t *testing.T) {
	if raceDetector {
		t.Skip("allocations are not counted under the race detector")
	}
	env := mql.NewEnv(context.Background())
	s, err := index.ParseSpec(env, bsontest.Doc(t, `{key: {a: 1, "b.c": -1}, name: "i"}`))
	if err != nil {
		t.Fatal(err)
	}
	doc, sc := bsontest.Doc(t, `{a: 1, b: {c: "text"}, d: [1, 2]}`), &expr.Scratch{}
	add := func(values, bits []byte) error { return nil }
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.Keys(env, doc, sc, add); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMultikeyPaths(t *testing.T) {
	env := mql.NewEnv(context.Background())
	s, err := index.ParseSpec(env, bsontest.Doc(t, `{key: {"a.b": 1, "a.c": 1, d: 1}, name: "i"}`))
	if err != nil {
		t.Fatal(err)
	}
	of := func(d string) index.MultikeyPaths {
		m, err := s.Keys(env, bsontest.Doc(t, d), &expr.Scratch{}, func(_, _ []byte) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	none, shared, single := of(`{a: {b: 1}, d: 1}`), of(`{a: [{b: 1, c: 2}]}`), of(`{a: {b: [1]}, d: 2}`)
	if none != nil || !shared.Field(0) || !shared.Field(1) || shared.Field(2) || !single.Field(0) || single.Field(1) {
		t.Errorf("arrays: %v %v %v", none, shared, single)
	}
	if !shared.SharesPrefix(1, []int{0}) || shared.SharesPrefix(2, []int{0, 1}) || single.SharesPrefix(1, []int{0}) {
		t.Error("SharesPrefix")
	}
	if !shared.SharesArray(0, 1, 0) || shared.SharesArray(0, 1, 1) || !single.SharesArray(0, 0, 1) || single.SharesArray(0, 0, 2) {
		t.Error("SharesArray")
	}
	u := single.Union(shared)
	if !u.Covers(single) || !u.Covers(shared) || single.Covers(shared) {
		t.Error("Union")
	}
	b := bson.NewBuilder(nil)
	u.Append(b)
	if r := index.ParseMultikey(b.Doc()); !r.Covers(u) || !u.Covers(r) {
		t.Errorf("ParseMultikey: %v", r)
	}
}

func TestWith(t *testing.T) {
	env := mql.NewEnv(context.Background())
	s, err := index.ParseSpec(env, bsontest.Doc(t, `{key: {a: 1}, name: "i"}`))
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.With(env, "hidden", bson.True)
	if err != nil || !h.Hidden || s.Hidden {
		t.Fatalf("hidden: %v", err)
	}
	if h, err = h.With(env, "hidden", bson.Value{}); err != nil || h.Hidden || !bytes.Equal(h.Raw(), s.Raw()) {
		t.Fatalf("unhidden: %v %v", err, h)
	}
	kept, err := index.ParseStoredSpec(env, bsontest.Doc(t, `{key: {a: 1}, name: "i", collation: {locale: "hsb"}}`), mql.NewestCollator)
	if err != nil {
		t.Fatal(err)
	}
	if h, err = kept.With(env, "hidden", bson.True); err != nil || !h.Hidden {
		t.Errorf("an index of a locale that new ones cannot have: %v", err)
	}
}

func TestTouched(t *testing.T) {
	env := mql.NewEnv(context.Background())
	for _, c := range []struct {
		spec, touched, untouched string
	}{
		{`{key: {"a.b": 1, c: 1}, name: "x"}`, "a a.b a.b.d a.0.b a.5 c", "b a.c ab"},
		{`{key: {"a.0.b": 1}, name: "x"}`, "a a.b a.1", "b"},
		{`{key: {a: 1}, name: "x", partialFilterExpression: {$or: [{p: 1}, {"q.r": {$gt: 1}}]}}`, "a p q q.r", "r q.s"},
		{`{key: {"$**": 1}, name: "x"}`, "a b.c", ""},
		{`{key: {"w.$**": 1}, name: "x"}`, "w w.x", "x"},
		{`{key: {t: "text"}, name: "x"}`, "t u", ""},
	} {
		s, err := index.ParseSpec(env, bsontest.Doc(t, c.spec))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range strings.Fields(c.touched) {
			if !s.Touched(path.Must(p)) {
				t.Errorf("%s: %s touches it", c.spec, p)
			}
		}
		for _, p := range strings.Fields(c.untouched) {
			if s.Touched(path.Must(p)) {
				t.Errorf("%s: %s does not touch it", c.spec, p)
			}
		}
	}
}

func TestDefaultName(t *testing.T) {
	if got := index.DefaultName(bsontest.Doc(t, `{a: 1, "b.c": -1.0, d: "hashed"}`)); got != "a_1_b.c_-1_d_hashed" {
		t.Error(got)
	}
}
