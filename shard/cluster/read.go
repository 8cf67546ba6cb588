package cluster

import (
	"errors"
	"slices"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/agg"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/changestream"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/collection/shard"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/shard/router"
	"github.com/cantledb/cantle/storage"
)

// view is what one read goes by: a catalog entry and a snapshot of the store
// that agree.
type view struct {
	snap   *catalog.Snapshot // not pinned any more
	reader storage.Reader
	laid   storage.Timestamp // where shards and indexes lie in the reader: as of then
	past   *past             // what reader reads, nil for a state of the store
	own    bool              // the reader is closed with the view
}

func (v *view) close() {
	if v.own && v.reader != nil {
		v.reader.Close()
	}
	v.reader = nil
}

// view pins the catalog, opens a snapshot of the store, and begins again when a
// collection of interest changed in between. The pin is dropped at once: a
// reader needs none, since what it read by stays true at its snapshot.
func (c *Cluster) view(o *Op, nss ...collection.Namespace) (*view, error) {
	if o.Txn != nil {
		v := &view{snap: o.Txn.Catalog, reader: o.Txn.Store, laid: o.Txn.laid}
		nss, err := below(v.snap, nss)
		if err != nil {
			return nil, err
		}
		now := c.Catalog.Peek()
		for _, ns := range nss {
			// The keys of what was dropped or merged since may be gone already.
			then := v.snap.Collection(ns)
			if then != nil && !then.IsView() {
				if err := o.confine(then); err != nil {
					return nil, err
				}
				if x := now.ByID(then.ID); !o.Txn.HasMade(then) && (x == nil || x.Map != then.Map) {
					return nil, snapshotUnavailable(ns)
				}
			}
			if err := c.rewound(o, ns, then); err != nil {
				return nil, err
			}
		}
		return v, v.visible(nss)
	}
	for {
		snap := c.Catalog.Pin()
		nss, err := below(snap, nss)
		if err != nil {
			snap.Unpin()
			return nil, err
		}
		var v *view
		if o.At == 0 {
			v, err = c.newest(o, snap)
		} else {
			v, err = c.stateAt(o, snap, nss)
		}
		if err != nil {
			snap.Unpin()
			return nil, err
		}
		now := c.Catalog.Peek()
		same := true
		if now != snap {
			for _, ns := range nss {
				same = same && now.Collection(ns) == snap.Collection(ns)
			}
		}
		snap.Unpin()
		if same {
			if err = v.visible(nss); err == nil {
				err = c.rewind(o, v, nss)
			}
			if err != nil {
				v.close()
				return nil, err
			}
			return v, nil
		}
		v.close()
	}
}

// newest is the view of the newest state.
func (c *Cluster) newest(o *Op, snap *catalog.Snapshot) (*view, error) {
	r, err := c.Store.Snapshot(o.Env.Context(), 0)
	if err != nil {
		return nil, err
	}
	o.Seen = max(o.Seen, r.ReadTimestamp())
	return &view{snap: snap, reader: r, laid: r.ReadTimestamp(), own: true}, nil
}

// stateAt is the view of the state at Op.At: one that is kept, if nothing of what is
// read has been laid out anew since, or else one made from the log.
func (c *Cluster) stateAt(o *Op, snap *catalog.Snapshot, nss []collection.Namespace) (*view, error) {
	newer := storage.Timestamp(0)
	kept := c.history.catalogAt(o.At)
	if kept == nil && o.At == c.Store.Latest() {
		kept = snap
	}
	as := kept != nil
	for _, ns := range nss {
		now := snap.Collection(ns)
		if now != nil {
			newer = max(newer, now.VisibleFrom)
		}
		as = as && (now == kept.Collection(ns) || now != nil && kept.Collection(ns) != nil && now.ID == kept.Collection(ns).ID && now.VisibleFrom <= o.At)
	}
	if as {
		r, err := c.Store.Snapshot(o.Env.Context(), o.At)
		if err == nil {
			return &view{snap: snap, reader: r, laid: o.At, own: true}, nil
		}
		if !errors.Is(err, storage.ErrSnapshotTooOld) {
			return nil, err
		}
	}
	p, err := c.past(o.Env.Context(), o.At, newer)
	if err != nil {
		return nil, err
	}
	return &view{snap: snap, reader: p.state.Reader(func() { c.history.release(p) }), laid: p.state.Base(), past: p, own: true}, nil
}

// rewind makes the past of what is to be read, and takes out of the view what did not
// exist then.
func (c *Cluster) rewind(o *Op, v *view, nss []collection.Namespace) error {
	if v.past == nil {
		return nil
	}
	for _, ns := range nss {
		coll := v.snap.Collection(ns)
		if coll == nil {
			coll = v.snap.Series(ns)
		}
		if coll != nil {
			ns = coll.Namespace
		}
		missing, err := stillNamed(ns, coll, v.past.names[ns])
		if err != nil {
			return err
		}
		switch {
		case missing:
			v.snap = v.snap.Without(coll)
		case coll != nil && !coll.IsView():
			if err := c.load(o, v.past.state, coll); err != nil {
				return err
			}
		}
	}
	return nil
}

// below adds to the namespaces of a read those that its views read.
func below(snap *catalog.Snapshot, nss []collection.Namespace) ([]collection.Namespace, error) {
	out := nss
	for i := 0; i < len(out); i++ {
		coll := snap.Collection(out[i])
		if coll == nil || !coll.IsView() {
			continue
		}
		db := out[i].DB
		outline := agg.NewOutline(coll.Options.Pipeline)
		if outline.Err != nil {
			return nil, outline.Err
		}
		for _, ns := range involved(db, collection.Namespace{DB: db, Coll: coll.Options.ViewOn}, outline) {
			if !slices.Contains(out, ns) {
				out = append(out[:len(out):len(out)], ns)
			}
		}
	}
	return out, nil
}

// visible refuses a snapshot from before shards or indexes changed: by the
// present entry, readers would look for what was not there yet.
// Errors: SnapshotUnavailable (246).
func (v *view) visible(nss []collection.Namespace) error {
	for _, ns := range nss {
		if c := v.snap.Collection(ns); c != nil && c.VisibleFrom > v.laid {
			return snapshotUnavailable(ns)
		}
	}
	return nil
}

// Stream is the result of a read: rows with a plan behind them.
type Stream struct {
	exec.Operator
	Coll     *catalog.Collection  // nil when the namespace does not exist
	Solution *plan.Solution       // of the collection read, nil for an empty one
	Shards   []*shard.Descriptor  // that were targeted
	Pipeline *agg.Pipeline        // of an aggregate
	Changes  *changestream.Stream // below a $changeStream pipeline, else nil
	oplog    *oplogOp             // below a pipeline on the change log, else nil
	c        *Cluster
	op       *Op
	v        *view
	inside   bool // the rows stay where they are: see FindInside
	after    func()
	held     *ratelimit.Throttled // a test's refusal of a change stream's first page
}

// Close releases operators and snapshot, and charges what is not charged yet.
func (s *Stream) Close() {
	if s.v == nil {
		return
	}
	s.Operator.Close()
	s.v.close()
	s.v = nil
	s.Settle()
	if s.after != nil {
		s.after()
	}
}

// Park lets go of what the stream would find again, for as long as nobody asks for
// rows; see exec.Parker. In a transaction nothing is let go: it ends soon.
// bytes is about what the stream holds then beside the memory budget of the command;
// done is false if it was at work.
func (s *Stream) Park() (bytes int64, done bool) {
	if s.v == nil {
		return 0, true
	}
	n, done := 0, true
	if s.op.Txn == nil {
		n, done = exec.Park(s.Operator)
	}
	return int64(n), done
}

// Settle charges what was read since the last time.
func (s *Stream) Settle() { s.c.settle(s.op) }

// Find opens a find. The caller closes the stream.
func (c *Cluster) Find(o *Op, ns collection.Namespace, f plan.Find) (*Stream, error) {
	return c.openFind(o, ns, f, false)
}

// FindInside is Find for rows that stay where they are, to be counted or changed:
// their bytes are not charged as returned.
func (c *Cluster) FindInside(o *Op, ns collection.Namespace, f plan.Find) (*Stream, error) {
	return c.openFind(o, ns, f, true)
}

// openFind is Find, or with inside FindInside.
func (c *Cluster) openFind(o *Op, ns collection.Namespace, f plan.Find, inside bool) (s *Stream, err error) {
	v, err := c.view(o, ns)
	if err != nil {
		return nil, err
	}
	defer func() {
		if s == nil { // an error, or a panic
			v.close()
		}
	}()
	return c.open(o, v, v.snap.Collection(ns), f, inside)
}

// open plans a find on a collection entry and opens it at a view, which the
// stream then owns.
func (c *Cluster) open(o *Op, v *view, coll *catalog.Collection, f plan.Find, inside bool) (*Stream, error) {
	if coll == nil {
		// A missing collection reads as empty, but bad arguments are errors.
		if _, err := plan.Canonical(o.Env, &catalog.Collection{}, f); err != nil {
			return nil, err
		}
		return &Stream{Operator: exec.Concat(nil), c: c, op: o, v: v, inside: inside}, nil
	}
	if coll.IsView() {
		return nil, mongoerr.ViewNotAllowed(coll.Namespace.String())
	}
	useCollation(o.Env, coll)
	if n, ok := plan.Express(o.Env, coll, &f); ok && f.Projection.IsEmpty() {
		return c.openExpress(o, v, coll, n, inside)
	}
	q, err := plan.Canonical(o.Env, coll, f)
	if err != nil {
		return nil, err
	}
	return c.openQuery(o, v, q, inside)
}

// openExpress opens a read of one record by its key.
func (c *Cluster) openExpress(o *Op, v *view, coll *catalog.Collection, n *plan.PointRead, inside bool) (*Stream, error) {
	d := coll.Map.Find(n.Hash, n.ID)
	shards := []*shard.Descriptor{d}
	o.begin(coll)
	o.touchKey(coll, d, n.ID)
	c.Uses.plan(coll, n)
	if err := c.admit(o, coll, shards, ratelimit.ReadKind); err != nil {
		return nil, err
	}
	op, err := exec.Build(n, exec.Source{Coll: coll, Shard: d, Reader: v.reader})
	if err != nil {
		return nil, err
	}
	o.Trace.add(d, op)
	return &Stream{Operator: op, Coll: coll, Solution: &plan.Solution{Shards: n, Point: true, Index: "_id_"}, Shards: shards, c: c, op: o, v: v, inside: inside}, nil
}

// useCollation makes the collection's default collation the command's, unless
// the command names one.
func useCollation(env *mql.Env, coll *catalog.Collection) {
	if env.Collation == nil && !env.SimpleCollation {
		env.Collation = coll.Options.Collation
	}
}

// useViewCollation makes a view's default collation, simple unless it was created with
// one, the command's. Manual: core/views#collation-behavior.
// Errors: OptionNotSupportedOnView (167) where the command names another.
func useViewCollation(env *mql.Env, view *catalog.Collection) error {
	own := view.Options.Collation
	switch {
	case env.Collation != nil && !env.Collation.Equal(own), env.SimpleCollation && own != nil:
		return mongoerr.New(mongoerr.OptionNotSupportedOnView, "Cannot override a view's default collation %s", view.Namespace)
	}
	env.Collation, env.SimpleCollation = own, own == nil
	return nil
}

func (c *Cluster) openQuery(o *Op, v *view, q *plan.Query, inside bool) (*Stream, error) {
	sol, err := c.choose(o, v, q)
	if err != nil {
		return nil, err
	}
	shards := router.Targets(q.Coll, q.Match, o.Env.Collation == nil)
	o.begin(q.Coll)
	o.touchQuery(q, shards)
	if err := c.admit(o, q.Coll, shards, ratelimit.ReadKind); err != nil {
		return nil, err
	}
	op, err := c.scatter(o, v, q.Coll, sol, shards, inside)
	if err != nil {
		return nil, err
	}
	return &Stream{Operator: op, Coll: q.Coll, Solution: sol, Shards: shards, c: c, op: o, v: v, inside: inside}, nil
}

// scatter opens a solution on every shard and puts the rows together.
func (c *Cluster) scatter(o *Op, v *view, coll *catalog.Collection, sol *plan.Solution, shards []*shard.Descriptor, inside bool) (exec.Operator, error) {
	ops, err := onShards(sol, rowsWanted(sol), exec.Source{Coll: coll, Reader: v.reader}, shards, func(d *shard.Descriptor, op exec.Operator) (exec.Operator, error) {
		o.Trace.add(d, op)
		if inside {
			return op, nil
		}
		return exec.CountReturned(op), nil
	})
	if err != nil {
		return nil, err
	}
	if len(ops) > 1 {
		ops = c.parallel(o, sol, ops)
	}
	return cut(sol, gather(ops, sol.Pattern)), nil
}

// parallel lets the operators of several shards run at the same time, when
// each has enough to do on its own.
func (c *Cluster) parallel(o *Op, sol *plan.Solution, ops []exec.Operator) []exec.Operator {
	if sol.Limit > 0 && sol.Skip+sol.Limit <= smallLimit && sol.Sorted || o.Txn != nil {
		return ops // reading ahead would cost more than it saves
	}
	return exec.Prefetch(o.Env, ops, c.Workers)
}

// smallLimit is a number of rows for which goroutines do not pay.
const smallLimit = 16

// Explain prints the plan of a find; with stats it is run to its end first.
func (s *Stream) Explain(b *bson.Builder, stats bool) { s.Operator.Explain(b, stats) }
