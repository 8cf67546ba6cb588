package agg

import (
	"bytes"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
)

// groupOp is the operator of $group. It reads its whole input into a groupTable, then delivers the groups: in
// the order of their first documents, or in the order of their keys if some were spilled.
type groupOp struct {
	base
	maker
	*groupStage
	table  groupTable
	env    *mql.Env // of the last Next, needed to release memory
	loaded bool
	at     int
	// While runs are read:
	key  []byte
	next bson.Raw // first row of the next group; nil at the end
	nkey []byte
}

func (o *groupOp) Next(env *mql.Env) (*exec.Row, error) {
	if !o.loaded {
		o.env = env
		if err := o.load(env); err != nil {
			return nil, err
		}
		o.loaded = true
	}
	var g *group
	switch {
	case o.table.runs != nil:
		var err error
		if g, err = o.fromRuns(env); g == nil || err != nil {
			return nil, err
		}
	case o.at == len(o.table.order):
		return nil, nil
	default:
		g = o.table.order[o.at]
		o.table.order[o.at] = nil
		o.at++
	}
	return o.deliver(env, g)
}

// Park releases nothing: the input was read to its end before the first row.
func (*groupOp) Park() (int, bool) { return 0, true }

// load reads the input.
func (o *groupOp) load(env *mql.Env) error {
	t := &o.table
	tallied, err := o.takeTally(env)
	if err != nil {
		return err
	}
	if tallied {
		o.in.Close()
	} else if err := exec.Drain(env, o.in, func(r *exec.Row) error { return o.add(env, r) }); err != nil {
		return err
	}
	if t.runs == nil {
		return nil
	}
	if len(t.order) > 0 {
		if err := t.spill(env); err != nil {
			return err
		}
	}
	if err := t.runs.Start(env); err != nil {
		return err
	}
	return o.advance()
}

// add adds a row of the input to its group, and counts the memory by which the groups have grown.
func (o *groupOp) add(env *mql.Env, r *exec.Row) (err error) {
	o.setRow(r)
	held := o.table.held
	if o.mode == groupMerge {
		err = o.takePartial(env, r)
	} else {
		err = o.take(env, r)
	}
	if err == nil && o.table.held != held {
		err = o.table.count(env, held)
	}
	return err
}

// groupOf returns the group of a document.
func (o *groupOp) groupOf(env *mql.Env, r *exec.Row) (*group, error) {
	id, err := o.id.Eval(env, r.Doc, &o.scratch)
	if err != nil {
		return nil, err
	}
	if id.IsMissing() {
		id = bson.Null
	} else if d, ok := id.Doc(); ok && d.IsEmpty() && !o.lone.IsMissing() {
		id = o.lone
	}
	return o.table.find(env, id, &o.scratch)
}

// take adds a document to its group.
func (o *groupOp) take(env *mql.Env, r *exec.Row) error {
	g, err := o.groupOf(env, r)
	if err != nil {
		return err
	}
	for _, s := range g.states {
		grew, err := s.Add(env, r.Doc, &o.scratch)
		if err != nil {
			return err
		}
		o.table.held += grew
	}
	return nil
}

// takePartial adds a row from a shard, a group with partial states of its accumulators, to the group with the
// same _id.
func (o *groupOp) takePartial(env *mql.Env, r *exec.Row) error {
	f, ok := r.Doc.First()
	if !ok {
		return badPartial("$group")
	}
	g, err := o.table.find(env, f.Value, &o.scratch)
	if err != nil {
		return err
	}
	grew, err := g.merge(env, r.Doc)
	o.table.held += grew
	return err
}

// fromRuns returns the next group from the spilled runs, in key order. It merges the partial states that
// several runs hold of the group.
func (o *groupOp) fromRuns(env *mql.Env) (*group, error) {
	if o.next == nil {
		return nil, nil
	}
	if err := env.Tick(); err != nil {
		return nil, err
	}
	o.scratch.Reset()
	o.key = append(o.key[:0], o.nkey...)
	f, _ := o.next.First()
	g := &group{id: f.Value.Clone(), states: make([]State, len(o.out))}
	for i, out := range o.out {
		var err error
		if g.states[i], err = out.fn.Start(env, g.id, &o.scratch); err != nil {
			return nil, err
		}
	}
	for o.next != nil && bytes.Equal(o.key, o.nkey) {
		if _, err := g.merge(env, o.next); err != nil {
			return nil, err
		}
		if err := o.advance(); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (o *groupOp) advance() (err error) {
	o.nkey, o.next, _, err = o.table.runs.Next()
	return err
}

// deliver makes the group's document.
func (o *groupOp) deliver(env *mql.Env, g *group) (*exec.Row, error) {
	o.returned++
	o.scratch.Reset()
	if o.mode == groupPartial {
		if err := g.flush(env); err != nil {
			return nil, err
		}
	}
	b := o.begin()
	b.Value("_id", g.id)
	for i, out := range o.out {
		if o.mode == groupPartial {
			g.states[i].Partial(b, out.name)
			continue
		}
		if err := g.states[i].Result(env, b, out.name, &o.scratch); err != nil {
			return nil, err
		}
	}
	return o.end(env, nil)
}

func (o *groupOp) Close() {
	o.base.Close()
	o.scratch.Close()
	if o.env != nil {
		o.table.release(o.env)
		o.env = nil
	}
	o.table.groups, o.table.order = nil, nil
	if o.table.runs != nil {
		o.table.runs.Close()
		o.table.runs = nil
	}
	o.loaded, o.next, o.at = true, nil, 0
}

func (o *groupOp) explainStats(b *bson.Builder) {
	b.Int64("totalOutputDataSizeBytes", o.table.Peak)
	o.table.Append(b)
}

func (o *groupOp) Explain(b *bson.Builder, stats bool) { explainStages(b, o, stats) }

// badPartial returns the error for a malformed partial state.
func badPartial(name string) error {
	return mongoerr.New(mongoerr.InternalError, "malformed partial state of %s", name)
}
