package agg

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
)

// rankConstant is the constant of reciprocal rank fusion: a pipeline adds weight / (rankConstant + rank) to the
// score of a document.
// Manual: reference/operator/aggregation/rankFusion#reciprocal-rank-fusion-rrf.
const rankConstant = 60

// rankedOp runs the pipelines of a fusion stage one after the other. For each document of each pipeline it
// delivers {_id, doc, at: {input, rank}}, or {_id, doc, at: {input, score}} if the pipelines score.
type rankedOp struct {
	base
	maker
	*fusionStage
	opener Opener
	spool  spool // the input in a $facet, read by all pipelines
	loaded bool
	input  int // index of the current pipeline
	sub    exec.Operator
	key    []byte // sort key of the previous document in the pipeline's order
	last   []byte
	count  int64 // documents of the current pipeline so far
	rank   int64
	seen   scoreRanges
}

func (o *rankedOp) Next(env *mql.Env) (*exec.Row, error) {
	for o.input < len(o.inputs) {
		if o.sub == nil {
			if err := o.open(env); err != nil {
				return nil, err
			}
		}
		if err := env.Tick(); err != nil {
			return nil, err
		}
		r, err := o.sub.Next(env)
		if err != nil {
			return nil, err
		}
		if r != nil {
			return o.ranked(env, r)
		}
		o.sub.Close()
		o.sub = nil
		o.input++
	}
	return nil, nil
}

// Park parks the pipeline that is running. If the pipelines read a spool, the stage's input has ended already.
func (o *rankedOp) Park() (int, bool) {
	if o.sub == nil {
		return 0, true
	}
	return o.sub.Park()
}

// open starts the next pipeline.
func (o *rankedOp) open(env *mql.Env) (err error) {
	o.count, o.rank = 0, 0
	sub := o.inputs[o.input].sub
	if o.in == nil {
		o.sub, err = o.opener.Open(env, o.ns, sub)
		return err
	}
	if !o.loaded {
		err := exec.Drain(env, o.in, func(r *exec.Row) error { return o.spool.add(env, r.Doc, o.metas.metaToStore(r)) })
		if err != nil {
			return err
		}
		o.loaded = true
	}
	o.sub, err = sub.Optimize().Open(env, &spoolOp{cursor: spoolCursor{s: &o.spool}}, o.opener)
	return err
}

// ranked returns the row for a document of the running pipeline, with its rank. Documents with equal sort keys
// share a rank; the next rank counts all of them.
func (o *rankedOp) ranked(env *mql.Env, r *exec.Row) (*exec.Row, error) {
	if o.scores != nil {
		return o.scored(env, r)
	}
	o.count++
	by := o.inputs[o.input].by
	if by != nil {
		var err error
		if o.key, err = exec.AppendKey(env, by, o.key[:0], r); err != nil {
			return nil, err
		}
	}
	if by == nil || o.count == 1 || !bytes.Equal(o.key, o.last) {
		o.rank = o.count
	}
	o.key, o.last = o.last, o.key
	b := o.begin()
	b.Value("_id", r.Doc.Get("_id"))
	b.Raw("doc", r.Doc)
	b.BeginDoc("at")
	b.Int32("input", int32(o.input))
	b.Int64("rank", o.rank)
	b.End()
	b.End()
	return o.end(env, nil)
}

func (o *rankedOp) Explain(b *bson.Builder, stats bool) { o.base.Explain(b, stats) }

func (o *rankedOp) Close() {
	o.base.Close()
	o.scratch.Close()
	if o.sub != nil {
		o.sub.Close()
		o.sub = nil
	}
	o.input = len(o.inputs)
	o.spool.close()
}

// scoreOp computes the combined score of each document of a fusion stage. It turns {_id, doc, ranks: [{input,
// rank}, …]} into the document with its score as metadata. If the pipelines score, ranks holds scores instead.
type scoreOp struct {
	*fusionStage
	in    exec.Operator
	ranks []int64 // rank of the document by pipeline; 0 = not delivered
	seen  scoreRanges
	sums  scoreSums
	meta  bson.Builder
	buf   []byte
	row   exec.Row
}

func (o *scoreOp) Next(env *mql.Env) (*exec.Row, error) {
	r, err := o.in.Next(env)
	if r == nil || err != nil {
		return nil, err
	}
	if o.scores != nil {
		return o.combined(env, r)
	}
	if o.ranks == nil {
		o.ranks = make([]int64, len(o.inputs))
	}
	clear(o.ranks)
	ranks, _ := r.Doc.Get("ranks").Array()
	for v := range ranks.Values() {
		at := bson.Raw(v.Data)
		i, _ := at.Get("input").Int32()
		o.ranks[i], _ = at.Get("rank").Int64()
	}
	score := 0.0
	for i, rank := range o.ranks {
		if rank > 0 {
			score += o.inputs[i].weight * (1 / float64(rankConstant+rank))
		}
	}
	doc, _ := r.Doc.Get("doc").Doc()
	o.row = exec.Row{Doc: doc, Meta: o.score(score)}
	return &o.row, nil
}

func (o *scoreOp) Park() (int, bool) { o.buf = nil; return o.in.Park() }

// score makes the metadata.
func (o *scoreOp) score(score float64) bson.Raw {
	b := &o.meta
	b.Reset(o.buf[:0])
	b.Double("score", score)
	if o.details {
		b.BeginDoc("scoreDetails")
		b.Double("value", score)
		b.String("description", "reciprocal rank fusion: the sum of weight / (60 + rank) over the pipelines that returned the document")
		b.BeginArray("details")
		for i, in := range o.inputs {
			b.BeginDoc("")
			b.String("inputPipelineName", in.name)
			if o.ranks[i] == 0 {
				b.String("rank", "NA")
			} else {
				b.Int("rank", o.ranks[i])
				b.Double("weight", in.weight)
				b.BeginArray("details")
				b.End()
			}
			b.End()
		}
		b.End()
		b.End()
	}
	o.buf = b.Finish()
	return bson.Raw(o.buf)
}

func (o *scoreOp) Explain(b *bson.Builder, stats bool) { o.in.Explain(b, stats) }
func (o *scoreOp) Close()                              { o.in.Close() }

// fusionOp is the operator of the whole stage.
type fusionOp struct {
	base
	sorted exec.Operator
}

func (o *fusionOp) Next(env *mql.Env) (*exec.Row, error) {
	r, err := o.sorted.Next(env)
	if r != nil {
		o.returned++
	}
	return r, err
}

func (o *fusionOp) Park() (int, bool) { return o.sorted.Park() }

func (o *fusionOp) Close() { o.sorted.Close() }
