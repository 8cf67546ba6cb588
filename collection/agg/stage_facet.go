package agg

import (
	"slices"
	"strings"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

var stageFacet = reading(StageDef{Name: "$facet",
	Constraints: Constraints{Blocking: true, NotIn: InFacet | InUpdate}, SameInput: true, OwnFields: true,
	Doc: "reference/operator/aggregation/facet"}, readFacet, parseFacet)

// facetStage is $facet: it runs several pipelines on the same documents and delivers one document with all
// their results.
type facetStage struct {
	names []string
	subs  []*Pipeline
}

// facetArgs are the pipelines of $facet with their names.
type facetArgs struct {
	names []string
	subs  [][]bson.Raw
}

func (a *facetArgs) mentioned() Mentioned { return Mentioned{Subs: a.subs} }

func readFacet(arg bson.Value) (*facetArgs, error) {
	d, ok := arg.Doc()
	if !ok || d.IsEmpty() {
		return nil, mongoerr.New(40169, "the $facet specification must be a non-empty object")
	}
	a := &facetArgs{}
	for it := d.Iter(); it.Next(); {
		name := string(it.Name)
		switch {
		case name == "":
			return nil, mongoerr.New(15998, "FieldPath field names may not be empty strings.")
		case name[0] == '$':
			return nil, mongoerr.New(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
		case strings.Contains(name, "."):
			return nil, mongoerr.New(16412, "FieldPath field names may not contain '.'. Consider using $getField or $setField.")
		}
		if it.Value.Type != bson.TypeArray {
			return nil, mongoerr.New(40170, "arguments to $facet must be arrays, %s is type %s", name, it.Value.Type)
		}
		stages, ok := pipelineDocs(it.Value)
		if !ok {
			return nil, mongoerr.New(40171, "elements of arrays in $facet spec must be non-empty objects, %s argument contained an element that was not", name)
		}
		if slices.ContainsFunc(stages, bson.Raw.IsEmpty) {
			return nil, mongoerr.New(40171, "elements of arrays in $facet spec must be non-empty objects, one argument contained an empty one")
		}
		a.names, a.subs = append(a.names, name), append(a.subs, stages)
	}
	return a, nil
}

func parseFacet(p *parser, a *facetArgs) ([]Stage, error) {
	s := &facetStage{names: a.names}
	for _, stages := range a.subs {
		sub, err := p.sub(p.env, p.ns, InFacet, stages)
		if err != nil {
			return nil, err
		}
		if len(sub.stages) > 0 && !sub.ReadsBySelf() && (sub.stages[0].Constraints().Source || sub.stages[0].Constraints().First) {
			return nil, mongoerr.New(40600, "%s is not allowed to be used within a $facet stage", sub.stages[0].Name())
		}
		sub.metas.note(p)
		s.subs = append(s.subs, sub)
	}
	return []Stage{s}, nil
}

func (s *facetStage) Name() string             { return "$facet" }
func (s *facetStage) Constraints() Constraints { return stageFacet.Constraints }
func (s *facetStage) Split() Split             { return merged(s) }

func (s *facetStage) Append(b *bson.Builder) {
	b.BeginDoc("$facet")
	for i, name := range s.names {
		s.subs[i].Append(b, name)
	}
	b.End()
}

func (s *facetStage) Reads(add func(string)) bool {
	for _, sub := range s.subs {
		f := sub.reads()
		if f.all {
			add("")
		}
		for p := range f.paths {
			add(p)
		}
	}
	return true
}

func (s *facetStage) Open(_ *mql.Env, in exec.Operator, o Opener) (exec.Operator, error) {
	return &facetOp{base: base{in: in, stage: s}, facetStage: s, opener: o, spool: spool{what: "$facet"}}, nil
}

type facetOp struct {
	base
	maker
	*facetStage
	opener Opener
	spool  spool
	done   bool
	env    *mql.Env
	held   int // bytes of the document, counted in the command's memory
}

func (o *facetOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.done {
		return nil, nil
	}
	err := exec.Drain(env, o.in, func(r *exec.Row) error { return o.spool.add(env, r.Doc, o.metas.metaToStore(r)) })
	if err != nil {
		return nil, err
	}
	o.env = env
	b := o.begin()
	for i, name := range o.names {
		b.BeginArray(name)
		if err := o.facet(env, b, o.subs[i]); err != nil {
			return nil, err
		}
		b.End()
	}
	o.done = true
	o.spool.close()
	o.returned++
	return o.end(env, nil)
}

// Park releases nothing: the input was read to its end before the first row.
func (*facetOp) Park() (int, bool) { return 0, true }

// facet runs one of the pipelines on the spooled input and appends its results to the open array.
func (o *facetOp) facet(env *mql.Env, b *bson.Builder, p *Pipeline) error {
	op, err := p.Open(env, &spoolOp{cursor: spoolCursor{s: &o.spool}}, o.opener)
	if err != nil {
		return err
	}
	defer op.Close()
	for {
		r, err := op.Next(env)
		if r == nil || err != nil {
			return err
		}
		if b.Len()+len(r.Doc) > facetBytesMax {
			return mongoerr.New(4031700, "document constructed by $facet is %d bytes, which exceeds the limit of %d bytes", b.Len()+len(r.Doc), facetBytesMax)
		}
		if n := b.Len() + len(r.Doc); n > o.held+keepBytesMax {
			if err := env.Memory.GrowRequired(n-o.held, "$facet"); err != nil {
				return err
			}
			o.held = n
		}
		b.Raw("", r.Doc)
	}
}

// facetBytesMax limits the size of the document that $facet makes.
// Manual: reference/operator/aggregation/facet#behavior.
const facetBytesMax = 100 << 20

func (o *facetOp) Close() {
	o.base.Close()
	o.scratch.Close()
	o.spool.close()
	if o.held > 0 {
		o.env.Memory.Shrink(o.held)
		o.held = 0
	}
	o.done = true
}

func (o *facetOp) Explain(b *bson.Builder, stats bool) { o.base.Explain(b, stats) }

// spoolOp reads a spool from its beginning.
type spoolOp struct {
	cursor spoolCursor
	at     int
	row    exec.Row
}

func (o *spoolOp) Next(env *mql.Env) (*exec.Row, error) {
	if o.at >= o.cursor.s.len() {
		return nil, nil
	}
	if err := env.Tick(); err != nil {
		return nil, err
	}
	d, meta, err := o.cursor.get(o.at)
	if err != nil {
		return nil, err
	}
	o.at++
	o.row = exec.Row{Doc: d, Meta: meta}
	return &o.row, nil
}

// Park releases nothing: the spool stays open.
func (*spoolOp) Park() (int, bool) { return 0, true }

func (o *spoolOp) Explain(b *bson.Builder, _ bool) { b.String("stage", "SPOOL") }
func (o *spoolOp) Close()                          { o.at = int(^uint(0) >> 1) }
