package update_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/match"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/update"
	"github.com/cantledb/cantle/internal/casefile"
)

// newEnv returns an environment with a fixed time.
func newEnv() *mql.Env {
	env := mql.NewEnv(context.Background())
	env.NowMillis = 1_700_000_000_000
	env.ClusterTime = 1_700_000_000<<32 | 7
	return env
}

// TestCases runs the case files. Their verbs print: apply, the new document of each doc ("same" if nothing changes);
// delta, the changes; upsert, the document of a filter; patch, the new document of each doc by the diff of an oplog
// entry.
func TestCases(t *testing.T) {
	casefile.Run(t, "testdata", func(t *testing.T, c *casefile.Case) string {
		env := newEnv()
		env.Release, env.ServerRelease = c.Release(), c.Release()
		if spec, ok := c.Get("collation"); ok {
			v, err := ejson.ParseValue(spec)
			if err != nil {
				t.Fatal(err)
			}
			if env.Collation, err = mql.ParseCollation(v); err != nil {
				return failure(err)
			}
		}
		var out strings.Builder
		for _, u := range c.All("update") {
			out.WriteString(runUpdate(t, env, c, u))
		}
		for _, d := range c.All("diff") {
			p, err := update.ParseDiff(bsontest.Doc(t, d))
			if err != nil {
				out.WriteString(failure(err))
				continue
			}
			for _, doc := range c.All("doc") {
				out.WriteString(applyOnce(env, p, bsontest.Doc(t, doc)))
			}
		}
		return out.String()
	})
}

func runUpdate(t *testing.T, env *mql.Env, c *casefile.Case, u string) string {
	v, err := ejson.ParseValue(u)
	if err != nil {
		t.Fatal(err)
	}
	var filters []bson.Raw
	if text, ok := c.Get("arrayFilters"); ok {
		list, err := ejson.ParseValue(text)
		if err != nil {
			t.Fatal(err)
		}
		arr, _ := list.Array()
		for f := range arr.Values() {
			filters = append(filters, bson.Raw(f.Data))
		}
	}
	_, multi := c.Get("multi")
	p, err := update.Parse(env, v, filters, update.Options{Multi: multi})
	if err != nil {
		return failure(err)
	}
	filter := bson.Empty
	if text, ok := c.Get("filter"); ok {
		filter = bsontest.Doc(t, text)
	}
	n, err := match.Parse(env, filter)
	if err != nil {
		return failure(err)
	}
	if c.Verb == "upsert" {
		d, err := p.Upsert(env, n, &expr.Scratch{}, func() bson.Value { return new(bson.Arena).String("new id") })
		if err != nil {
			return failure(err)
		}
		return ejson.String(d) + "\n"
	}
	var out strings.Builder
	for _, text := range c.All("doc") {
		doc := bsontest.Doc(t, text)
		got, modified, err := apply(env, p, n, doc)
		switch {
		case err != nil:
			out.WriteString(failure(err))
		case !modified:
			out.WriteString("same\n")
		case c.Verb == "delta":
			d, whole := p.Delta(doc, got, position(env, n, doc))
			if whole {
				out.WriteString("whole\n")
				break
			}
			b := bson.NewBuilder(nil)
			d.Append(b)
			out.WriteString(ejson.String(b.Doc()) + "\n")
		default:
			out.WriteString(show(got) + "\n")
		}
	}
	return out.String()
}

// show prints a document as relaxed Extended JSON, but its longs as Long("…") unless it has a date.
func show(d bson.Raw) string {
	if s := ejson.Canonical(d); strings.Contains(s, "$numberLong") && !strings.Contains(s, "$date") {
		return strings.NewReplacer(`{"$numberInt":"`, ``, `{"$numberLong":"`, `Long("`, `"}`, `")`).Replace(relaxInts(s))
	}
	return ejson.String(d)
}

// relaxInts removes the wrapping of int32 values.
func relaxInts(s string) string {
	const open = `{"$numberInt":"`
	for {
		i := strings.Index(s, open)
		if i < 0 {
			return s
		}
		end := i + len(open) + strings.Index(s[i+len(open):], `"}`)
		s = s[:i] + s[i+len(open):end] + s[end+2:]
	}
}

// position returns the Input for $.
func position(env *mql.Env, n match.Node, doc bson.Raw) (in update.Input) {
	in.Position, in.HasPosition, _ = match.MatchPosition(env, doc, n, &expr.Scratch{})
	return in
}

func apply(env *mql.Env, p *update.Program, n match.Node, doc bson.Raw) (bson.Raw, bool, error) {
	in, s := update.Input{}, &expr.Scratch{}
	if p.NeedsPosition() {
		in = position(env, n, doc)
	}
	before := bytes.Clone(doc)
	b := bson.NewBuilder(nil)
	r, err := p.Apply(env, b, doc, in, s)
	if !bytes.Equal(before, doc) {
		panic("the old document was changed")
	}
	if err != nil {
		return nil, false, err
	}
	got := b.Doc()
	if _, err := bson.Parse(got, bson.Limits{}); err != nil {
		return nil, false, err
	}
	return got, r.Modified, nil
}

func failure(err error) string {
	e := mongoerr.From(err)
	return fmt.Sprintf("error %d %s\n", e.Code, e.Code)
}

// applyOnce returns doc after p, the program of an oplog diff, as text. If p applied once more changes something, the
// text has that result too.
func applyOnce(env *mql.Env, p *update.Program, doc bson.Raw) string {
	got, _, err := apply(env, p, nil, doc)
	if err != nil {
		return failure(err)
	}
	if again, modified, err := apply(env, p, nil, got); err != nil || modified {
		return fmt.Sprintf("%s, and then %s\n", ejson.String(got), ejson.String(again))
	}
	return ejson.String(got) + "\n"
}
