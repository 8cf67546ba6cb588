package agg

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
)

// base is the common part of all operators of this package.
type base struct {
	in       exec.Operator // nil for sources
	stage    Stage
	returned int64
}

func (o *base) self() *base { return o }

// Close closes the input.
func (o *base) Close() {
	if o.in != nil {
		o.in.Close()
	}
}

// Explain appends the stages of the pipeline up to this one.
func (o *base) Explain(b *bson.Builder, stats bool) {
	b.BeginArray("stages")
	o.explain(b, stats, nil)
	b.End()
}

// explainStages is Explain for an operator that implements extras.
func explainStages(b *bson.Builder, op exec.Operator, stats bool) {
	b.BeginArray("stages")
	ExplainStages(b, op, stats)
	b.End()
}

// extras appends an operator's statistics beyond the number of rows.
type extras interface{ explainStats(b *bson.Builder) }

func (o *base) explain(b *bson.Builder, stats bool, self extras) {
	ExplainStages(b, o.in, stats)
	b.BeginDoc("")
	if e, ok := o.stage.(interface{ appendExplain(b *bson.Builder) }); ok {
		e.appendExplain(b)
	} else {
		o.stage.Append(b)
	}
	if stats {
		if self != nil {
			self.explainStats(b)
		}
		b.Int("nReturned", o.returned)
		b.Int32("executionTimeMillisEstimate", 0)
	}
	b.End()
}

// ExplainStages appends to an open array of explain the stages that op runs, first to last. An operator of
// another package, the source of the rows, is printed inside {$cursor: …}.
func ExplainStages(b *bson.Builder, op exec.Operator, stats bool) {
	switch o := op.(type) {
	case nil:
	case interface{ self() *base }:
		self, _ := op.(extras)
		o.self().explain(b, stats, self)
	default:
		b.BeginDoc("")
		b.BeginDoc("$cursor")
		op.Explain(b, stats)
		b.End()
		b.End()
	}
}

// maker builds the documents of an operator's rows, and reuses its memory for each next row.
type maker struct {
	builder bson.Builder
	buf     []byte
	row     exec.Row
	scratch expr.Scratch
	metas   metaKinds
}

// begin opens the next document of an operator. A second call drops it and begins again.
func (m *maker) begin() *bson.Builder {
	if cap(m.buf) > keepBytesMax {
		m.buf = nil
	}
	m.builder.Reset(m.buf[:0])
	return &m.builder
}

// end finishes the document and returns its row. like is the row from which the document was made, whose
// metadata and id the new row keeps; nil for none.
//
// Errors: BSONObjectTooLarge; ExceededMemoryLimit; the reason why the command must end.
func (m *maker) end(env *mql.Env, like *exec.Row) (*exec.Row, error) {
	m.buf = m.builder.Finish()
	if len(m.buf) > docBytesMax {
		return nil, tooLarge(len(m.buf))
	}
	if err := m.scratch.CountExtra(env, cap(m.buf)); err != nil {
		return nil, err
	}
	if err := env.Row(len(m.buf)); err != nil {
		return nil, err
	}
	if like != nil {
		m.row = *like
	} else {
		m.row = exec.Row{}
	}
	m.row.Doc = bson.Raw(m.buf)
	return &m.row, nil
}

// keepBytesMax limits the memory that an idle builder keeps.
const keepBytesMax = 1 << 20
