package exec

import (
	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
)

// union runs its inputs, such as the branches of an $or, one after the other and drops records delivered
// before.
type union struct {
	Counters
	node plan.Node
	in   []Operator
	at   int
	seen recordSet
}

func (u *union) Next(env *mql.Env) (*Row, error) {
	for u.at < len(u.in) {
		r, err := u.in[u.at].Next(env)
		if err != nil {
			return nil, err
		}
		if r == nil {
			u.at++
			continue
		}
		u.Works++
		fresh, err := u.seen.add(env, r)
		if err != nil {
			return nil, err
		}
		if fresh {
			u.Returned++
			return r, nil
		}
		u.Dropped++
	}
	u.Done = true
	return nil, nil
}

func (u *union) Explain(b *bson.Builder, stats bool) {
	explainNode(b, u.node, &u.Counters, stats)
	if stats {
		u.appendDropped(b, u.Works)
	}
	explainInputs(b, stats, u.in...)
}

func (u *union) Close() {
	closeAll(u.in)
	u.seen.release()
}

func closeAll(ops []Operator) {
	for _, o := range ops {
		o.Close()
	}
}

// intersect delivers the rows of its first input whose record all other inputs deliver too. It first reads the
// other inputs completely, into sets of records.
type intersect struct {
	Counters
	node   plan.Node
	in     []Operator
	others []recordSet
}

func (x *intersect) Next(env *mql.Env) (*Row, error) {
	if x.others == nil {
		x.others = make([]recordSet, len(x.in)-1)
		for i, o := range x.in[1:] {
			err := Drain(env, o, func(r *Row) error {
				_, err := x.others[i].add(env, r)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
next:
	for {
		r, err := x.in[0].Next(env)
		if r == nil || err != nil {
			x.Done = err == nil
			return nil, err
		}
		x.Works++
		for i := range x.others {
			if !x.others[i].has(r) {
				continue next
			}
		}
		x.Returned++
		return r, nil
	}
}

func (x *intersect) Explain(b *bson.Builder, stats bool) {
	explainStage(b, x.node, &x.Counters, stats, x.in...)
}

func (x *intersect) Close() {
	closeAll(x.in)
	for i := range x.others {
		x.others[i].release()
	}
}
