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
	// fields are what the pipeline reads of the collection's documents, when a
	// pipeline made by Divide cannot tell any more; nil = ask the stages.
	fields *fieldSet
	probes *Probes
	// metas are the kinds of metadata that its stages read.
	metas metaKinds
}

// Probes says that a pipeline asks several questions at once: which documents have
// each of the values at the path. Every value is charged as a query of its own (R8).
type Probes struct {
	Path   string
	Values []bson.Value // valid while the pipeline is being opened
	// Alone says that nothing else is asked of the documents.
	Alone bool
}

// Probes returns the questions, nil for a pipeline that is one query.
func (p *Pipeline) Probes() *Probes { return p.probes }

// Stages returns the stages; the caller must not change the slice.
func (p *Pipeline) Stages() []Stage { return p.stages }

// IsEmpty reports a pipeline that passes everything through.
func (p *Pipeline) IsEmpty() bool { return len(p.stages) == 0 }

// with returns a pipeline on the same collection with other stages.
func (p *Pipeline) with(stages []Stage) *Pipeline {
	return &Pipeline{NS: p.NS, stages: stages, metas: p.metas}
}

// Concat returns the pipeline that runs p and then q, for view definitions.
func (p *Pipeline) Concat(q *Pipeline) *Pipeline {
	out := p.with(append(append([]Stage(nil), p.stages...), q.stages...))
	out.metas |= q.metas
	return out
}

// IsSource reports that the first stage makes the rows itself, so that the
// collection is not read.
func (p *Pipeline) IsSource() bool {
	return len(p.stages) > 0 && p.stages[0].Constraints().Source
}

// Writes reports a pipeline that ends in $out or $merge.
func (p *Pipeline) Writes() bool {
	n := len(p.stages)
	return n > 0 && p.stages[n-1].Constraints().Writes
}

// Open makes the operators of the pipeline on top of in, which is nil when
// IsSource. When it fails, in is closed.
//
// Errors: those of the stages.
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

// Append appends the pipeline as an array under name, in a form that Parse reads.
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
