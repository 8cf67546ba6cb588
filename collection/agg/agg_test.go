package agg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/bson/bsontest"
	"github.com/cantledb/cantle/bson/ejson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/internal/casefile"
)

// TestCases runs every case with the verb run in seven ways: as written, parked after each row, optimised, divided over
// three shards, with so little memory that blocking stages spill, and, optimised or divided, in the form of ByEdges if
// there is one. The results must have equal rows, in any order, doubles to 12 digits.
func TestCases(t *testing.T) {
	casefile.Run(t, "testdata", func(t *testing.T, c *casefile.Case) string {
		w := newWorld(t, c)
		switch c.Verb {
		case "run":
			whole := w.run(whole)
			for _, way := range []way{parked, optimised, divided, spilled, edges, edgesDivided} {
				got := newWorld(t, c).run(way)
				if got != whole && sortedLines(rounded(got)) != sortedLines(rounded(whole)) {
					t.Errorf("%s differs:\n%s", way, casefile.Diff(whole, got))
				}
			}
			return whole
		case "explain":
			p, err := w.parse()
			if err != nil {
				return showError(err)
			}
			w.env.Memory.Spill = true
			op, err := w.open(w.env, p, optimised, w.docs)
			if err != nil {
				return showError(err)
			}
			defer op.Close()
			if _, err := drain(w.env, op); err != nil {
				return showError(err)
			}
			b := bson.NewBuilder(nil)
			op.Explain(b, true)
			return strings.ReplaceAll(ejson.String(b.Doc()), "},{\"$", "},\n{\"$")
		case "optimize":
			p, err := w.parse()
			if err != nil {
				return showError(err)
			}
			return showPipeline(p.Optimize())
		case "divide":
			p, err := w.parse()
			if err != nil {
				return showError(err)
			}
			shards, merge, by := p.Optimize().Divide()
			out := "shards: " + showPipeline(shards) + "\nmerge: " + showPipeline(merge)
			if by != nil {
				b := bson.NewBuilder(nil)
				by.AppendFields(b)
				out += "\nby: " + ejson.String(b.Doc())
			}
			return out
		case "edges":
			p, err := w.parse()
			if err != nil {
				return showError(err)
			}
			if p = p.Optimize().ByEdges(); p == nil {
				return "no"
			}
			return showFront(p.Front())
		case "front":
			p, err := w.parse()
			if err != nil {
				return showError(err)
			}
			return showFront(p.Optimize().Front())
		}
		t.Fatalf("unknown verb %s", c.Verb)
		return ""
	})
}

func showPipeline(p *Pipeline) string { return ejson.ValueString(p.BSON()) }

func showFront(f Front) string {
	var out []string
	line := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if f.Filter != nil {
		b := bson.NewBuilder(nil)
		f.Filter.Append(b)
		line("filter: %s", ejson.String(b.Doc()))
	}
	if f.Sort != nil {
		b := bson.NewBuilder(nil)
		f.Sort.AppendFields(b)
		line("sort: %s", ejson.String(b.Doc()))
	}
	if f.Skip != 0 {
		line("skip: %d", f.Skip)
	}
	if f.Limit != 0 {
		line("limit: %d", f.Limit)
	}
	if f.Projection != nil {
		line("projection: %s", ejson.String(f.Projection))
	}
	if f.Count {
		line("count")
	}
	if f.Distinct != "" {
		line("distinct: %s", f.Distinct)
	}
	if f.Edge != nil {
		b := bson.NewBuilder(nil)
		f.Edge.AppendFields(b)
		line("edge: %s, last %t", ejson.String(b.Doc()), f.EdgeLast)
	}
	line("rest: %s", showPipeline(f.Remaining))
	return strings.Join(out, "\n")
}

// rounded drops the last digits of doubles in results, because the sums and means of a divided pipeline are
// rounded in another order than those of the whole.
func rounded(s string) string {
	return longNumber.ReplaceAllStringFunc(s, func(n string) string {
		f, err := strconv.ParseFloat(n, 64)
		if err != nil {
			return n
		}
		return strconv.FormatFloat(f, 'g', 12, 64)
	})
}

var longNumber = regexp.MustCompile(`\d+\.\d{12,}`)

func sortedLines(s string) string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// way is a way to run a pipeline.
type way string

const (
	whole     way = "whole"
	parked    way = "parked"
	optimised way = "optimised"
	divided   way = "divided"
	spilled   way = "spilled"
	// edges and edgesDivided are optimised and divided with the form ByEdges, where there is one.
	edges        way = "by edges"
	edgesDivided way = "by edges, divided"
)

// world holds the Env, the collections and the pipeline of a case.
type world struct {
	access   Access // how the foreign collections are read
	env      *mql.Env
	docs     []bson.Raw
	foreign  map[string][]bson.Raw
	pipeline []bson.Raw
	show     []string
	memory   int64
	nospill  bool
	ns       collection.Namespace
	sources  []*poisonOp // all sources that were opened
}

func newWorld(t testing.TB, c *casefile.Case) *world {
	w := &world{foreign: map[string][]bson.Raw{}, memory: mql.StageBytesMax, ns: collection.Namespace{DB: "test", Coll: "c"}}
	w.env = mql.NewEnv(context.Background())
	w.env.Release, w.env.ServerRelease = c.Release(), c.Release()
	w.env.DB = "test"
	w.env.NowMillis = 1700000000000
	w.env.JavaScript = true
	for _, a := range c.Args {
		switch a.Key {
		case "doc":
			w.docs = append(w.docs, bsontest.Doc(t, a.Value))
		case "docs":
			w.docs = append(w.docs, mustDocs(t, a.Value)...)
		case "pipeline":
			w.pipeline = mustDocs(t, a.Value)
		case "foreign":
			name, list, _ := strings.Cut(a.Value, " ")
			w.foreign[name] = mustDocs(t, list)
		case "show":
			w.show = append(w.show, a.Value)
		case "on":
			w.ns = collection.ParseNamespace(a.Value)
		case "index", "order", "wire": // for compat-tests/behaviour/language
		case "nospill":
			w.nospill = true
		case "memory":
			fmt.Sscan(a.Value, &w.memory)
		case "collation":
			coll, err := mql.ParseCollation(bsontest.Doc(t, a.Value).Value())
			if err != nil {
				t.Fatal(err)
			}
			w.env.Collation = coll
		case "let":
			for name, v := range bsontest.Doc(t, a.Value).Fields() {
				w.env.Vars.Set(w.env.Vars.Declare(string(name)), v)
			}
		default:
			t.Fatalf("%s: unknown argument %s", c.Position(), a.Key)
		}
	}
	return w
}

func mustDocs(t testing.TB, s string) []bson.Raw {
	t.Helper()
	v := bsontest.Value(t, s)
	docs, ok := pipelineDocs(v)
	if !ok {
		if a, isArray := v.Array(); isArray { // a pipeline with a stage that is not a document
			for v := range a.Values() {
				docs = append(docs, bson.Raw(v.Data))
			}
			return docs
		}
		t.Fatalf("%s is no array of documents", s)
	}
	return docs
}

func (w *world) parse() (*Pipeline, error) {
	return Parse(w.env, w.pipeline, Options{NS: w.ns})
}

// run returns one document per line, or the error.
func (w *world) run(how way) string {
	limit := w.memory
	if how == spilled && !w.nospill {
		limit = 1000
	}
	w.env.Memory = mql.NewMemory(limit)
	w.env.Memory.Spill, w.env.Memory.SpillDir = !w.nospill, os.TempDir() // spilled files are deleted on creation
	rows, err := w.collect(how)
	if err != nil {
		return showError(err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, ejson.String(r))
	}
	for _, name := range w.show {
		out = append(out, name+":")
		for _, d := range w.foreign[name] {
			out = append(out, "  "+ejson.String(d))
		}
	}
	return strings.Join(out, "\n")
}

func (w *world) collect(how way) ([]bson.Raw, error) {
	p, err := w.parse()
	if err != nil {
		return nil, err
	}
	op, err := w.open(w.env, p, how, w.docs)
	if err != nil {
		return nil, err
	}
	defer op.Close()
	if how == parked {
		op = &parkingOp{op, w}
	}
	return drain(w.env, op)
}

// parkingOp parks its input after each row.
type parkingOp struct {
	exec.Operator
	w *world
}

func (o *parkingOp) Next(env *mql.Env) (*exec.Row, error) {
	r, err := o.Operator.Next(env)
	if r == nil || err != nil {
		return r, err
	}
	kept := exec.Row{Doc: r.Doc.Clone()}
	o.Park()
	for _, s := range o.w.sources {
		if s.open && !o.w.holds() {
			return nil, errors.New("a source stays open while its pipeline is parked")
		}
	}
	return &kept, nil
}

// holds reports whether the pipeline has a stage that may keep its source open while it is parked: $unwind inside an
// array, or $changeStreamSplitLargeEvent inside an event.
func (w *world) holds() bool {
	return slices.ContainsFunc(w.pipeline, func(d bson.Raw) bool {
		return mentions(ejson.String(d), "$unwind") || mentions(ejson.String(d), "$changeStreamSplitLargeEvent")
	})
}

func drain(env *mql.Env, op exec.Operator) ([]bson.Raw, error) {
	var out []bson.Raw
	for {
		r, err := op.Next(env)
		if err != nil {
			return nil, err
		}
		if r == nil {
			if r, err := op.Next(env); r != nil || err != nil {
				return nil, fmt.Errorf("after the end: %v %v", r, err)
			}
			return out, nil
		}
		if _, err := bson.Parse(r.Doc, bson.Limits{Bytes: 64 << 20, Depth: 1000}); err != nil {
			return nil, fmt.Errorf("invalid document %x: %w", []byte(r.Doc), err)
		}
		out = append(out, r.Doc.Clone())
	}
}

// open runs p over docs in one of the ways.
func (w *world) open(env *mql.Env, p *Pipeline, how way, docs []bson.Raw) (exec.Operator, error) {
	source := func(docs []bson.Raw) exec.Operator {
		op := &poisonOp{docs: docs}
		w.sources = append(w.sources, op)
		return op
	}
	if p.IsSource() {
		source = func([]bson.Raw) exec.Operator { return nil }
	}
	if how != whole && how != parked {
		p = p.Optimize()
	}
	if how == edges || how == edgesDivided {
		if q := p.ByEdges(); q != nil {
			p = q
		}
	}
	if how != divided && how != edgesDivided {
		return p.Open(env, source(docs), w)
	}
	shards, merge, by := p.Divide()
	if p.IsSource() {
		return merge.Open(env, nil, w)
	}
	const n = 3
	var parts []exec.Operator
	for i := range n {
		op, err := shards.Open(env.Fork(env.Context()), source(docs[i*len(docs)/n:(i+1)*len(docs)/n]), w)
		if err != nil {
			return nil, err
		}
		parts = append(parts, op)
	}
	if by != nil {
		return merge.Open(env, exec.Merge(by, parts), w)
	}
	return merge.Open(env, exec.Concat(parts), w)
}

// poisonOp delivers documents from memory that it overwrites at the next Next, and when it is parked, so that a
// stage which keeps a row without copying it fails.
type poisonOp struct {
	docs []bson.Raw
	buf  []byte
	row  exec.Row
	open bool // between its first row and its last, unless it is parked
}

func (o *poisonOp) Next(*mql.Env) (*exec.Row, error) {
	o.Park()
	if o.open = len(o.docs) > 0; !o.open {
		return nil, nil
	}
	o.buf = append(o.buf[:0:0], o.docs[0]...)
	o.docs = o.docs[1:]
	o.row = exec.Row{Doc: o.buf}
	return &o.row, nil
}
func (o *poisonOp) Explain(b *bson.Builder, _ bool) { b.String("stage", "COLLSCAN") }
func (o *poisonOp) Close()                          { o.docs, o.open = nil, false }

func (o *poisonOp) Park() (int, bool) {
	for i := range o.buf {
		o.buf[i] = 0xEE
	}
	o.open = false
	return 0, true
}

// Open, Survey, Explains, Sink, Changes and Info make a world an Opener.
func (w *world) Open(env *mql.Env, ns collection.Namespace, p *Pipeline) (exec.Operator, error) {
	docs := w.foreign[ns.Coll]
	if ns.Coll == "c" && docs == nil {
		docs = w.docs
	}
	return w.open(env, p, optimised, docs)
}

func (w *world) Survey(*mql.Env, collection.Namespace, *Pipeline, string) (Access, error) {
	return w.access, nil
}

func (w *world) Explains() bool { return false }

func (w *world) Changes(*mql.Env, collection.Namespace, bson.Raw) (exec.Operator, error) {
	return &poisonOp{docs: []bson.Raw{bson.Empty}}, nil
}

func (w *world) Info(_ *mql.Env, ns collection.Namespace, kind string, spec bson.Raw) (exec.Operator, error) {
	b := bson.NewBuilder(nil)
	b.String("kind", kind)
	b.String("ns", ns.String())
	b.Raw("spec", spec)
	return &poisonOp{docs: []bson.Raw{b.Doc()}}, nil
}

func showError(err error) string {
	e := mongoerr.From(err)
	if e.Code == mongoerr.InternalError {
		return fmt.Sprintf("error %d %s: %v", e.Code, e.Code, err)
	}
	return fmt.Sprintf("error %d %s", e.Code, e.Code)
}

// Sink makes a world's collection the target of $out and $merge.
func (w *world) Sink(_ *mql.Env, ns collection.Namespace, spec *SinkSpec) (Sink, error) {
	return &worldSink{w: w, name: ns.Coll, spec: spec}, nil
}

type worldSink struct {
	w    *world
	name string
	spec *SinkSpec
	docs []bson.Raw
}

func (s *worldSink) Write(env *mql.Env, docs []bson.Raw) error {
	for _, d := range docs {
		d = d.Clone()
		if s.spec.Out {
			s.docs = append(s.docs, d)
			continue
		}
		if err := s.merge(env, d); err != nil {
			return err
		}
	}
	return nil
}

func (s *worldSink) merge(env *mql.Env, d bson.Raw) error {
	on := s.spec.On
	if on == nil {
		on = []string{"_id"}
	}
	for i, old := range s.w.foreign[s.name] {
		if !slices.ContainsFunc(on, func(f string) bool { return !bson.Equal(old.Get(f), d.Get(f), nil) }) {
			if s.spec.WhenMatched == MatchFail {
				return mongoerr.New(mongoerr.DuplicateKey, "there already")
			}
			updated, err := s.spec.Updated(env, old, d)
			s.w.foreign[s.name][i] = updated
			return err
		}
	}
	switch s.spec.WhenMissing {
	case MissInsert:
		s.w.foreign[s.name] = append(s.w.foreign[s.name], d)
	case MissFail:
		return mongoerr.New(13113, "not there")
	}
	return nil
}

func (s *worldSink) Finish(*mql.Env) error {
	if s.spec.Out {
		s.w.foreign[s.name] = s.docs
	}
	return nil
}

func (s *worldSink) Close() {}
