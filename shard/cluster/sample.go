package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/storage"
)

// A $sample at the beginning of a pipeline reads documents at random positions if the collection has more than
// sampleDocsMin documents and the sample is less than one in sampleShare of them. Otherwise documents are read in their
// order, which costs less for each.
// Manual: reference/operator/aggregation/sample (5 %, 100 documents).
const (
	sampleDocsMin = 100
	sampleShare   = 20
	// sampleMax bounds the keys that a sample holds in memory; a larger one is sorted, on the disk if necessary.
	sampleMax = 50_000
)

// runSample runs a pipeline that begins with a small $sample. It returns false for another pipeline. In a transaction and
// at a time in the past, the store cannot divide what is read, and all keys are read.
func (x *opener) runSample(env *mql.Env, q *plan.Query, p *agg.Pipeline, hint bson.Value, shards []*shard.Descriptor) (opened, bool, error) {
	size, rest, ok := p.Sample()
	if !ok || !hint.IsMissing() || size > sampleMax {
		return opened{}, false, nil
	}
	if docs := x.c.tally.Of(q.Coll.ID).Total(q.Coll.Map).Docs; docs <= sampleDocsMin || size >= docs/sampleShare {
		return opened{}, false, nil
	}
	var divide func(r storage.Range) ([]storage.Part, error)
	if d, can := x.c.store.(storage.Divider); can && x.o.Txn == nil && x.v.rewound == nil {
		divide = func(r storage.Range) ([]storage.Part, error) { return d.Divide(env.Context(), r) }
	}
	node := &plan.Sample{Size: size}
	sol := &plan.Solution{Shards: node, Certain: true}
	x.c.chosen(x.o, q, sol)
	src := exec.Source{Coll: q.Coll, Reader: x.v.reader}
	var parts []*exec.SampleShard
	for _, d := range shards {
		src.Shard = d
		part, err := exec.NewSampleShard(node, src, divide)
		if err != nil {
			return opened{}, false, err
		}
		parts = append(parts, part)
	}
	var op exec.Operator = exec.NewSample(node, src, parts, nil)
	if len(shards) > 1 {
		for i, part := range parts {
			x.trace.add(shards[i], part)
		}
		op, err := rest.Open(env, exec.CountReturnedByShard(op), x)
		return opened{op, sol, shards}, true, err
	}
	op, err := rest.Open(env, op, x)
	if err != nil {
		return opened{}, false, err
	}
	x.trace.add(shards[0], op)
	return opened{exec.CountReturnedAt(op, int(shards[0].ID)), sol, shards}, true, nil
}
