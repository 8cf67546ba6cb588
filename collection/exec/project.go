package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/expr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
)

// projection transforms each document.
type projection struct {
	Counters
	node    *plan.Project
	in      Operator
	row     Row
	builder bson.Builder
	buf     []byte
	scratch expr.Scratch
	keys    sortKeys
}

func (p *projection) Next(env *mql.Env) (*Row, error) {
	r, err := p.in.Next(env)
	if r == nil || err != nil {
		p.Done = err == nil
		return nil, err
	}
	p.Works++
	p.scratch.Reset()
	if p.node.Metas != 0 {
		r.SetMeta(&p.scratch, p.node.Metas)
		if p.node.Metas&(1<<expr.MetaSortKey) != 0 {
			if p.scratch.Meta[expr.MetaSortKey], err = p.keys.of(r, p.node.Pattern); err != nil {
				return nil, err
			}
		}
	}
	p.builder.Reset(p.buf[:0])
	if err := p.node.Transform.Apply(env, &p.builder, r.Doc, &p.scratch); err != nil {
		return nil, err
	}
	p.buf = p.builder.Finish()
	if err := p.scratch.CountExtra(env, cap(p.buf)); err != nil {
		return nil, err
	}
	p.row = *r
	p.row.Doc = bson.Raw(p.buf)
	p.Returned++
	return &p.row, nil
}

func (p *projection) Explain(b *bson.Builder, stats bool) {
	if p.node.IsExpress() {
		p.in.Explain(b, stats)
		return
	}
	explainStage(b, p.node, &p.Counters, stats, p.in)
}
func (p *projection) Close() {
	p.in.Close()
	p.scratch.Close()
}

// returnKey replaces documents by index keys.
type returnKey struct {
	Counters
	node *plan.ReturnKey
	in   Operator
	row  Row
}

func (k *returnKey) Next(env *mql.Env) (*Row, error) {
	r, err := k.in.Next(env)
	if r == nil || err != nil {
		k.Done = err == nil
		return nil, err
	}
	k.Works++
	k.Returned++
	k.row = *r
	k.row.Doc = bson.Empty
	if d, ok := r.Meta.Get("indexKey").Doc(); ok {
		k.row.Doc = d
	}
	return &k.row, nil
}

func (k *returnKey) Explain(b *bson.Builder, stats bool) {
	explainStage(b, k.node, &k.Counters, stats, k.in)
}
func (k *returnKey) Close() { k.in.Close() }

// recordID appends $recordId to documents.
type recordID struct {
	Counters
	node    *plan.RecordID
	in      Operator
	row     Row
	builder bson.Builder
	buf     []byte
}

func (k *recordID) Next(env *mql.Env) (*Row, error) {
	r, err := k.in.Next(env)
	if r == nil || err != nil {
		k.Done = err == nil
		return nil, err
	}
	k.Works++
	k.Returned++
	k.builder.Reset(k.buf[:0])
	k.builder.Splice(r.Doc.Elements())
	k.builder.Int64("$recordId", RecordNumber(r.Hash, r.ID))
	k.buf = k.builder.Finish()
	k.row = *r
	k.row.Doc = bson.Raw(k.buf)
	return &k.row, nil
}

func (k *recordID) Explain(b *bson.Builder, stats bool) {
	explainStage(b, k.node, &k.Counters, stats, k.in)
}
func (k *recordID) Close() { k.in.Close() }
