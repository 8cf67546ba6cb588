package plans

import (
	"sync"
	"time"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/cluster"
	"github.com/cantledb/cantle/wire/command"
	"github.com/cantledb/cantle/wire/cursor"
)

// statsRun is one execution that $queryStats counts: a command, and the getMores of its cursor. Safe for concurrent use.
type statsRun struct {
	stats *queryStats
	key   statsKey
	trace *cluster.Trace // the operators of the execution; their counters are read when the cursor is closed

	mu     sync.Mutex
	users  int  // commands at work
	open   bool // there is a cursor
	closed bool
	failed bool // the first command has failed: there is no execution
	work   statsWork
}

// statsWork holds the measurements of one execution.
type statsWork struct {
	first, total, working                time.Duration
	returned, keys, docs                 int64
	sorted, disk, trial, cached          bool
	inserted, matched, modified, removed int64
	upserted                             int64
	last                                 time.Time // the end of its last command
}

// Sample begins the record of an execution that $queryStats counts; nil if its command cannot be read.
func (s *State) Sample(c *command.Call) cursor.Observer {
	k, err := s.statsKeyOf(c.Aside())
	if err != nil {
		return nil // the command itself returns the error
	}
	if c.Op.Trace == nil {
		c.Op.Trace = &cluster.Trace{RealRead: true}
	}
	return &statsRun{stats: &s.stats, key: k, trace: c.Op.Trace, users: 1}
}

// Opened implements cursor.Observer.
func (r *statsRun) Opened() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = true
}

// Used implements cursor.Observer.
func (r *statsRun) Used() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users++
}

// Closed implements cursor.Observer.
func (r *statsRun) Closed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.settle()
}

// settle records the execution if it has ended. The caller holds mu.
func (r *statsRun) settle() {
	if r.failed || r.users > 0 || r.open && !r.closed {
		return
	}
	for _, p := range r.trace.Parts {
		tree := bson.NewBuilder(nil)
		p.Operator.Explain(tree, true)
		d := tree.Doc()
		r.work.keys += exec.SumOf(d, "keysExamined")
		r.work.docs += exec.SumOf(d, "docsExamined")
	}
	r.trace = nil
	r.failed = true // it is recorded once
	r.stats.record(&r.key, &r.work)
}

// ended adds the measurements of one command of the execution, which has ended with e.
func (r *statsRun) ended(c *command.Call, e command.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users--
	w, p := &r.work, c.Progress()
	took := e.Took - p.Idle.Sum()
	if c.Page.Opened == nil {
		r.failed = e.Err != nil
		w.first = took
		if sol := p.Plan.Load(); sol != nil {
			_, w.sorted = plan.SummaryOf(sol.Shards)
			w.trial, w.cached = sol.Tried != nil, sol.Cached
		}
		if c.Def.Kind == command.KindWrite && e.Err == nil {
			w.addReply(c)
		} else if list, ok := replyOf(c, "values").Array(); ok {
			w.returned = int64(list.Len())
		}
	}
	if len(r.trace.Parts) == 0 { // a read by _id has no operators
		w.docs += c.Op.Receipt.Sum(ratelimit.DocLoaded) + c.Op.Receipt.Sum(ratelimit.PointRead)
	}
	w.total += took
	w.working += max(0, took-p.Locked.Sum()-c.Op.Waited)
	w.returned += c.Returned
	w.last = c.Start.Add(e.Took)
	if m := p.Memory.Load(); m != nil {
		w.disk = w.disk || len(m.Spills()) > 0
	}
	r.settle()
}

// replyOf returns a field of the reply as written so far, unless the reply has a cursor.
func replyOf(c *command.Call, name string) bson.Value {
	written := c.Reply.Since(c.BodyAt)
	if len(written) == 0 || c.Returned > 0 {
		return bson.Value{}
	}
	b := bson.NewBuilder(nil)
	b.Splice(written)
	return b.Doc().Get(name)
}

// addReply adds the counts in the reply of a write.
func (w *statsWork) addReply(c *command.Call) {
	n, _ := replyOf(c, "n").AsInt64()
	switch c.Def.Op {
	case command.OpInsert:
		w.inserted = n
	case command.OpRemove:
		w.removed = n
	case command.OpUpdate:
		list, _ := replyOf(c, "upserted").Array()
		w.upserted = int64(list.Len())
		w.matched = n - w.upserted
		w.modified, _ = replyOf(c, "nModified").AsInt64()
	}
}

// endStats adds a command that has ended to its execution, if $queryStats counts that. A command that reached its cap, or that
// query settings refused, is counted in any case.
func (s *State) endStats(c *command.Call, e command.Outcome) {
	r, _ := c.Run.(*statsRun)
	action, ranAway := c.Runaway()
	rejected := mongoerr.CodeOf(e.Err) == mongoerr.QueryRejectedBySettings
	if ranAway || rejected {
		s.noteStats(c, r, action, ranAway)
	}
	if r != nil {
		r.ended(c, e)
	}
}

// noteStats counts a command that ran away, or that query settings refused. r is its execution, nil if it was not sampled.
func (s *State) noteStats(c *command.Call, r *statsRun, action ratelimit.RunawayAction, ranAway bool) {
	var k statsKey
	if r != nil {
		k = r.key
	} else {
		inner, def := c.Aside(), c.Def
		if first, ok := c.Page.Opened.First(); ok {
			def = s.Lookup(string(first.Name))
			inner.Become(def, c.Page.Opened)
		}
		if def == nil || def.Stats == nil || !def.Stats(c.Release()) {
			return
		}
		var err error
		if k, err = s.statsKeyOf(inner); err != nil {
			return
		}
	}
	s.stats.note(&k, action, ranAway, c.Cluster.Now())
}
