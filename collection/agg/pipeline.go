package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

// Pipeline is a parsed pipeline. Immutable, safe for concurrent use.
type Pipeline struct {
	// NS is the collection the pipeline runs on.
	NS     collection.Namespace
	stages []Stage
	// fields are the fields of the collection's documents that the pipeline reads. Divide sets them in its
	// parts, which do not contain all stages; if nil, they are computed from the stages.
	fields *fieldSet
	probes *Probes
	// metas are the kinds of metadata that its stages read.
	metas metaKinds
}

// Probes describes a pipeline of $lookup or $graphLookup that looks up several values at once: it finds the
// documents that have any of the values at the path. The price list charges every value as one query (R8).
type Probes struct {
	Path   string
	Values []bson.Value // valid while the pipeline is opened
	// Alone reports that there is no other condition on the documents.
	Alone bool
}

// Probes returns the values that the pipeline of a $lookup or $graphLookup looks up at once, nil for a pipeline
// that is one query.
func (p *Pipeline) Probes() *Probes { return p.probes }

// Stages returns the stages; the caller must not change the slice.
func (p *Pipeline) Stages() []Stage { return p.stages }

// IsEmpty reports whether the pipeline has no stages, so that it passes everything through.
func (p *Pipeline) IsEmpty() bool { return len(p.stages) == 0 }

// with returns a pipeline on the same collection with other stages.
func (p *Pipeline) with(stages []Stage) *Pipeline {
	return &Pipeline{NS: p.NS, stages: stages, metas: p.metas}
}

// Concat returns the pipeline with the stages of p and then those of q, as a pipeline on a view runs behind the
// view's own.
func (p *Pipeline) Concat(q *Pipeline) *Pipeline {
	out := p.with(append(append([]Stage(nil), p.stages...), q.stages...))
	out.metas |= q.metas
	return out
}

// IsSource reports whether the first stage, such as $documents, makes the rows itself, so that the pipeline has no
// input.
func (p *Pipeline) IsSource() bool {
	return len(p.stages) > 0 && p.stages[0].Constraints().Source
}

// Writes reports whether the pipeline ends in $out or $merge.
func (p *Pipeline) Writes() bool {
	n := len(p.stages)
	return n > 0 && p.stages[n-1].Constraints().Writes
}

// Open returns the operators that run the pipeline on the rows of in, which is nil if IsSource. If Open fails,
// it closes in.
//
// Errors: errors of the stages' Open.
func (p *Pipeline) Open(env *mql.Env, in exec.Operator, o Opener) (exec.Operator, error) {
	for _, s := range p.stages {
		next, err := s.Open(env, in, o)
		if err != nil {
			if in != nil {
				in.Close()
			}
			return nil, err
		}
		if m, ok := next.(metaReader); ok {
			m.readsMeta(p.metas)
		}
		in = next
	}
	return in, nil
}

// Append appends the pipeline as an array under name, in a form that Parse accepts.
func (p *Pipeline) Append(b *bson.Builder, name string) {
	b.BeginArray(name)
	for _, s := range p.stages {
		parts := []Stage{s}
		if u, ok := s.(interface{ unfold() []Stage }); ok {
			parts = u.unfold()
		}
		for _, s := range parts {
			b.BeginDoc("")
			s.Append(b)
			b.End()
		}
	}
	b.End()
}

// BSON returns the pipeline as an array of stages.
func (p *Pipeline) BSON() bson.Value {
	b := bson.NewBuilder(nil)
	p.Append(b, "p")
	return b.Doc().Get("p")
}
