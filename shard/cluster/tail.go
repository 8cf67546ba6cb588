package cluster

import (
	"context"

	"github.com/cantledb/cantle/bson"
	"github.com/cantledb/cantle/collection"
	"github.com/cantledb/cantle/collection/catalog"
	"github.com/cantledb/cantle/collection/exec"
	"github.com/cantledb/cantle/collection/mongoerr"
	"github.com/cantledb/cantle/collection/mql"
	"github.com/cantledb/cantle/collection/plan"
	"github.com/cantledb/cantle/ratelimit"
	"github.com/cantledb/cantle/storage"
	"github.com/cantledb/cantle/storage/keyspace"
)

// Tail is a find on a capped collection whose end is not final, for tailable cursors: after the newest document it
// continues with those that are inserted. It reads in turns, each from a fresh snapshot, and holds no snapshot
// between turns. It is not safe for concurrent use.
// Manual: core/tailable-cursors.
type Tail struct {
	c         *Cluster
	op        *Op
	ns        collection.Namespace
	f         plan.Find // without limit and skip
	id        keyspace.CollectionID
	skip      int64
	remaining int64 // number of documents that may still be delivered, -1 = any number

	after keyspace.Hash     // position of the last document read; 0 if nothing was read yet
	at    storage.Timestamp // the last turn's snapshot

	// Of the current turn.
	in     exec.Operator // nil between turns
	v      *view
	newest keyspace.Hash // position of the newest document in the snapshot
	row    keyspace.Hash // position of the row delivered and not taken yet
}

// Tail opens a tail. It returns nil without an error if the collection is missing, which reads as empty.
// Errors: BadValue (2) for a collection that is not capped or an order other than that of insertion; the errors of
// Find.
func (c *Cluster) Tail(o *Op, ns collection.Namespace, f plan.Find) (*Tail, error) {
	if err := checkTailSort(ns, f.Sort); err != nil {
		return nil, err
	}
	snap := c.catalog.Peek()
	if err := snap.CheckUUID(o.Expected, o.Env.Release); err != nil {
		return nil, err
	}
	o.Expected = catalog.Expected{} // a later turn has the error of a dropped collection
	coll := snap.Collection(ns)
	if coll == nil {
		_, err := plan.Canonical(o.Env, &catalog.Collection{}, f)
		return nil, err
	}
	if !coll.Options.Capped {
		return nil, tailError(ns, "tailable cursor requested on non capped collection")
	}
	t := &Tail{c: c, op: o, ns: ns, f: f, id: coll.ID, skip: f.Skip, remaining: -1}
	if f.Limit > 0 {
		t.remaining = f.Limit
	}
	t.f.Skip, t.f.Limit, t.f.Sort, t.f.Hint = 0, 0, nil, bson.Value{}
	return t, t.open()
}

// checkTailSort accepts only the order of insertion.
func checkTailSort(ns collection.Namespace, sort bson.Raw) error {
	if sort.IsEmpty() {
		return nil
	}
	if n, ok := sort.Get("$natural").AsInt64(); ok && n == 1 && sort.Len() == 1 {
		return nil
	}
	return mongoerr.New(mongoerr.BadValue, "error processing query: ns=%s: cannot use tailable option with a sort other than {$natural: 1}", ns)
}

func tailError(ns collection.Namespace, what string) error {
	return mongoerr.New(mongoerr.BadValue, "error processing query: ns=%s: %s", ns, what)
}

// open begins a turn of reading: it takes a fresh snapshot and opens the plan behind the position of the last
// document.
// Errors: QueryPlanKilled (175) if the collection is gone, CappedPositionLost (136) if the document read last is
// gone.
func (t *Tail) open() (err error) {
	v, err := t.c.view(t.op, t.ns)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	coll := v.snap.Collection(t.ns)
	if coll == nil || coll.ID != t.id {
		return mongoerr.New(mongoerr.QueryPlanKilled, "collection %s was dropped or renamed while the cursor was open", t.ns)
	}
	t.at = v.reader.ReadTimestamp()
	if err := t.checkPosition(v.reader); err != nil {
		return err
	}
	if t.newest, err = lastPosition(t.op, v.reader, t.id); err != nil {
		return err
	}
	useCollation(t.op.Env, coll)
	q, err := plan.Canonical(t.op.Env, coll, t.f)
	if err != nil {
		return err
	}
	sol, err := t.c.choose(t.op, v, q.InNaturalOrder())
	if err != nil {
		return err
	}
	shards := coll.Map.Shards()[:1]
	t.c.begin(t.op, coll)
	if err := t.c.admit(t.op, coll, shards, ratelimit.ReadKind); err != nil {
		return err
	}
	ops, err := onShards(sol, 0, exec.Source{Coll: coll, Reader: v.reader, From: t.after + 1}, shards, nil)
	if err != nil {
		return err
	}
	t.in, t.v = exec.CountReturned(ops[0]), v
	return nil
}

// checkPosition checks that nothing was skipped: while the document read last
// exists, no document behind it has been deleted to make room.
func (t *Tail) checkPosition(r storage.Reader) error {
	if t.after == 0 {
		return nil
	}
	it, err := r.Iter(t.op.Env.Context(), keyspace.RecordHashRange(t.id, t.after, t.after), storage.IterOptions{KeysOnly: true, FetchRows: 1})
	if err != nil {
		return err
	}
	defer it.Close()
	if it.Next() || it.Err() != nil {
		return it.Err()
	}
	return mongoerr.New(mongoerr.CappedPositionLost, "CollectionScan died due to failure to restore tailable cursor position. Last seen record id: RecordId(%d)", t.after)
}

// Next returns the next document, nil if there is none for now or the limit is reached. A document that was not taken
// (Take) is returned again in the next turn. At the beginning of a turn, it can fail like a new find.
func (t *Tail) Next(env *mql.Env) (*exec.Row, error) {
	if t.remaining == 0 {
		return nil, nil
	}
	if t.in == nil {
		if err := t.open(); err != nil {
			return nil, err
		}
	}
	for {
		row, err := t.in.Next(env)
		if err != nil {
			return nil, err
		}
		if row == nil {
			t.after = max(t.after, t.newest)
			return nil, nil
		}
		t.row = row.Hash
		if t.skip == 0 {
			return row, nil
		}
		t.skip--
		t.after = t.row
	}
}

// Take marks the document that Next returned last as delivered: Next then returns the one after it, and the limit has
// one less.
func (t *Tail) Take() {
	t.after = t.row
	if t.remaining > 0 {
		t.remaining--
	}
}

// StartedEmpty reports whether the tail has passed no document so far, matching or not, so that it has no position to
// continue from.
func (t *Tail) StartedEmpty() bool { return t.after == 0 && t.remaining != 0 }

// Pause ends the turn of reading: it closes the snapshot and charges the cost of the turn.
func (t *Tail) Pause() {
	if t.in != nil {
		t.in.Close()
		t.v.close()
		t.in, t.v = nil, nil
	}
	t.c.settle(t.op)
}

// Wait waits until a commit after the last turn may have given the tail a further document, or the collection has
// ended; if nothing more can come, until ctx ends. Errors: ctx.Err(), storage.ErrClosed.
func (t *Tail) Wait(ctx context.Context) error {
	if t.remaining == 0 || t.op.Txn != nil || t.op.At != 0 {
		<-ctx.Done() // nothing more can come
		return ctx.Err()
	}
	if coll := t.c.catalog.Settled().Collection(t.ns); coll == nil || coll.ID != t.id {
		return nil // the record of the collection's end may be older than the turn, whose catalog did not have the drop yet
	}
	return t.c.hub.WaitFor(ctx, t.at, t.id)
}
