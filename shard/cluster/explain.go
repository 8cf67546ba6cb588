package cluster

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
)

// Trace collects, for explain or the profiler, the operators of a read by shard. A nil Trace collects nothing.
type Trace struct {
	// RealRead: the read would run without the trace too. Its plan may come from the cache and counts as a use of its
	// indexes.
	RealRead bool
	Parts    []Part
}

// explained reports whether a read runs only to be explained.
func (o *Op) explained() bool { return o.Trace != nil && !o.Trace.RealRead }

// Part is the operator of a traced read that runs on one shard. Its counters may be read once the stream is closed.
type Part struct {
	Shard    *shard.Descriptor
	Operator exec.Operator
}

func (t *Trace) add(d *shard.Descriptor, op exec.Operator) {
	if t != nil {
		t.Parts = append(t.Parts, Part{d, op})
	}
}

// ParsedQuery prints a filter as the planner parsed it; empty if it
// cannot be parsed.
func ParsedQuery(o *Op, f bson.Raw) bson.Raw {
	q, err := plan.Canonical(o.Env, nil, plan.Find{Filter: f})
	if err != nil {
		return bson.Empty
	}
	b := bson.NewBuilder(nil)
	q.Match.Append(b)
	return b.Doc()
}
