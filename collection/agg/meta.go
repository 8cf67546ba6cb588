package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
)

// metaKinds is a set of kinds of metadata (expr.MetaKind) as bits: those that the expressions and sort patterns
// of a pipeline read. Rows keep their metadata through every stage that makes one document from one; the
// documents of stages such as $group, $bucketAuto, $facet and $count have none.
type metaKinds uint32

// noting adds to k the kinds of metadata that expressions read, from now until done is called: those parsed
// with p's Env, without the expressions of sub-pipelines.
func (p *parser) noting(k *metaKinds) (done func()) {
	before := p.env.ReadsMeta
	p.env.ReadsMeta = func(kind string) {
		if m, ok := expr.ParseMetaKind(kind); ok {
			*k |= 1 << m
		}
	}
	return func() { p.env.ReadsMeta = before }
}

// note adds the kinds to those that the pipeline being parsed by p reads. Two stages need this: a pipeline of
// $facet reads the rows of the outer pipeline, and $match collects its kinds separately.
func (k metaKinds) note(p *parser) {
	for m := expr.MetaKind(0); k>>m != 0; m++ {
		if k.has(m) {
			p.env.NoteMeta(m.String())
		}
	}
}

func (k metaKinds) has(m expr.MetaKind) bool { return k&(1<<m) != 0 }

// metaReader is an operator that reads metadata of its rows. Pipeline.Open passes it the kinds that the
// pipeline reads.
type metaReader interface{ readsMeta(k metaKinds) }

// give passes the metadata of a row, of the kinds in k, to the expressions that are evaluated with the scratch
// memory s.
func (k metaKinds) give(r *exec.Row, s *expr.Scratch) {
	if k != 0 {
		r.SetMeta(s, uint32(k))
	}
}

// giveStored is give for metadata that was stored with a document by metaToStore.
func (k metaKinds) giveStored(meta bson.Raw, s *expr.Scratch) {
	if k != 0 {
		r := exec.Row{Meta: meta}
		r.SetMeta(s, uint32(k)&^(1<<expr.MetaRecordID))
	}
}

// metaToStore returns the metadata to store with a row.
func (k metaKinds) metaToStore(r *exec.Row) bson.Raw { return r.MetaToStore(uint32(k)) }

// setRow resets the scratch for the next row and passes the row's metadata to the expressions.
func (m *maker) setRow(r *exec.Row) {
	m.scratch.Reset()
	m.metas.give(r, &m.scratch)
}

func (m *maker) readsMeta(k metaKinds) { m.metas = k }
